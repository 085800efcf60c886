--- Belay: distributed locks on Redis and Valkey.
--
--   local belay = require "belay"
--   local client <close> = assert(belay.connect "redis://localhost:6379")
--   do
--     local hold <close>, message = client:lock("orders:42"):acquire { wait = 5 }
--     if not hold then return nil, message end
--     charge(hold:fence())
--   end -- released here, also after an error
--
-- Outside coroutines a call blocks. With the option `scheduler`, an adapter such as `require "belay.luv"`, a call in a coroutine of that
-- scheduler lets the others run meanwhile. In nginx that is so without an option.
local found, problem = pcall(require, "belay.native")
if not found then
  if problem:find("libbelay", 1, true) then
    error("Belay's library is missing: install libbelay, then run ldconfig or set LD_LIBRARY_PATH\n" .. problem, 0)
  elseif problem:find("undefined symbol: lua", 1, true) then
    error("this rock of Belay is for another version of Lua: build it with `luarocks --lua-version`\n" .. problem, 0)
  end
  error(problem, 0)
end

local Canceller = require "belay.canceller"
local Client = require "belay.client"
local errors = require "belay.errors"
local names = require "belay.names"
local native = require "belay.native"
local options = require "belay.options"

return {
  --- Connect to a server in the background: `belay.connect(url, options)`. Without a URL: the variable BELAY_URL, else localhost.
  -- Options: those of the library, with times in seconds (`belay.options()` lists them); `scheduler`; `warn`, a function for warnings
  -- instead of stderr; `log`, a function(level, message, time, dropped) for the log. Returns a client; or `nil, message, status, details`.
  connect = Client.new,
  --- A canceller, for the option `cancel` of an acquire.
  canceller = Canceller.new,
  --- The names of all statuses.
  status = errors.status,
  --- What each status means.
  about = names.about,
  --- The names of all options of `connect`, and a few words on each.
  options = options.about,
  --- Whether fence `a` was granted after fence `b`: `<` would compare their digits letter by letter.
  newer = function(a, b)
    return tonumber(options.expect(a, "fence", "the first fence")) > tonumber(options.expect(b, "fence", "the second fence"))
  end,
  --- The version of the library.
  version = native.belay_version(),
}
