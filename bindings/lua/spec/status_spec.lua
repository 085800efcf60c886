local belay = require "belay"
local errors = require "belay.errors"
local names = require "belay.names"
local native = require "belay.native"
local support = require "spec.support"

describe("a status", function()
  it("of the library has a name and a meaning", function()
    local count = 0
    for number = 0, 255 do
      local name = native.belay_status_name(number)
      if name ~= "UNKNOWN" then
        count = count + 1
        assert.equal(number, names.status[name])
        assert.equal(name, belay.status[name])
        if number ~= 0 then
          local none, message, status, details = errors.fail(errors.event(number))
          assert.is_nil(none)
          assert.equal(name, status)
          assert.equal(belay.about[name], message)
          assert.truthy(#message > 5)
          assert.truthy(({ RETRY = 1, REFUSED = 1, MISUSE = 1, GONE = 1 })[details.class])
        end
      end
    end
    assert.equal(24 + 1, count)
  end)

  it("of a later library is treated by its class", function()
    local _, _, status, details = errors.fail(errors.event(999))
    assert.equal("UNKNOWN", status)
    assert.equal("REFUSED", details.class)
  end)

  it("that there is not raises an error", function()
    assert.has_error(function() return belay.status.TIMEUOT end)
  end)

  it("of the server comes through", function()
    local server = support.server()
    server:cli "acl setuser poor on '>secret' '~*' '&*' +@connection +info"
    server:cli "set belay:{s}:x 1"
    local function status_of(url, call)
      local client = assert(belay.connect(url, { request_timeout = 2 }))
      local status = select(3, call(client))
      client:close()
      return status
    end
    local function try(client)
      return client:lock("a"):try()
    end
    assert.equal("AUTH_FAILED", status_of(server.url:gsub("unix://", "unix://poor:wrong@"), try))
    assert.equal("NOT_PERMITTED", status_of(server.url:gsub("unix://", "unix://poor:secret@"), try))
    assert.equal("UNAVAILABLE", status_of("unix:///tmp/no-such-socket", try))
    assert.equal("SERVER_ERROR", status_of(server.url, function(client)
      return client:fenced_write("key", "1", "SET")
    end))
    assert.equal("WRONG_TYPE", status_of(server.url, function(client)
      assert(client:latch("l"):set(1))
      return client:lock("l"):try()
    end))
    server:stop()
  end)
end)
