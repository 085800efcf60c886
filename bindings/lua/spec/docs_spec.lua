--- The examples of docs/lua.md, each in a program of its own.
local support = require "spec.support"

local file = assert(io.open "../../docs/lua.md")
local text = file:read "*a"
file:close()

describe("docs/lua.md", function()
  local server

  setup(function()
    server = support.server()
  end)

  teardown(function()
    server:stop()
  end)

  local count, closing = 0, 0
  for heading, section in ("\n" .. text:gsub("\n## ", "\n\0## ")):gmatch "## ([^\n]*)\n([^%z]*)" do
    for example in section:gmatch "```lua\n(.-)```" do
      count = count + 1
      local has_close = example:find("<close>", 1, true)
      closing = closing + (has_close and 1 or 0)
      if not has_close or _VERSION == "Lua 5.4" then
        it(("has an example that works: %s, %d"):format(heading, count), function()
          local head = example:find("require \"belay\"", 1, true) and ""
            or "local belay = require 'belay'\nlocal client = assert(belay.connect())\n"
          local output = support.program("function charge(what, fence) assert(what and fence:match '^%d+$') end\n"
            .. head .. "do\n" .. example .. "end\n", "BELAY_URL=" .. server.url)
          assert.truthy(output:match "exit=0\n$", output)
          assert.falsy(output:find("belay:", 1, true), output)
        end)
      end
    end
  end

  it("has examples", function()
    assert.equal(11, count)
    assert.equal(1, closing)
  end)

  it("names every adapter, and every option of a lock", function()
    for _, word in ipairs { "belay.luv", "belay.cqueues", "lease", "max_hold", "lock_delay", "identity", "shared" } do
      assert.truthy(text:find("`" .. word .. "`", 1, true), word)
    end
  end)
end)
