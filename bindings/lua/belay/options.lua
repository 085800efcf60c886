--- Options are tables. Times are in seconds. An option that there is not raises an error.
local Canceller = require "belay.canceller"
local names = require "belay.names"
local native = require "belay.native"

local options = {}

--- A name for people. Control characters are shown: Lua 5.1 cuts a text at a NUL.
function options.shown(name)
  return "'" .. name:gsub("%c", function(character)
    return ("\\x%02x"):format(character:byte())
  end) .. "'"
end

local here = debug.getinfo(1, "S").source:match "^.*[/\\]" or "@"

--- Raises an error that names the program's line, not one of this package.
function options.refuse(message)
  local level = 3
  local info = debug.getinfo(level, "S")
  while info and (info.what == "C" or info.what == "tail" or info.source:sub(1, #here) == here) do
    level = level + 1
    info = debug.getinfo(level, "S")
  end
  error(message, info and level or 0)
end

local kinds = { string = "a string", number = "a number", integer = "a whole number", fence = "a string of 1 to 18 digits",
  table = "a table", ["function"] = "a function", boolean = "true or false", word = "a string or a whole number",
  canceller = "a canceller" }

local function is_whole(value)
  return type(value) == "number" and value % 1 == 0 and value >= -2 ^ 53 and value <= 2 ^ 53
end

-- What is more than a type of Lua.
local is = {
  integer = is_whole,
  fence = function(value)
    return is_whole(value) or type(value) == "string" and #value <= 18 and value:find "^%d+$" ~= nil
  end,
  word = function(value)
    return is_whole(value) or type(value) == "string"
  end,
  canceller = function(value)
    return getmetatable(value) == Canceller
  end,
}

local function described(value)
  if type(value) == "string" then
    return options.shown(value)
  end
  return (value == nil or type(value) == "number") and tostring(value) or "a " .. type(value)
end

--- Checks the kind of an argument, and returns it.
function options.expect(value, kind, what)
  if type(value) ~= kind and not (is[kind] and is[kind](value)) then
    options.refuse(("%s must be %s, not %s"):format(what, kinds[kind], described(value)))
  end
  return value
end

--- Has the methods of a class check that they are called on an object of it. `static`: names of functions that are no methods.
function options.class(class, what, static)
  for name, method in pairs(class) do
    if type(method) == "function" and not name:find "^__" and not static[name] then
      class[name] = function(self, ...)
        if getmetatable(self) ~= class then
          options.refuse(("`%s` must be called with a colon on %s, not on %s"):format(name, what, described(self)))
        end
        return method(self, ...)
      end
    end
  end
  return class
end

--- No options. Nobody changes this table.
options.none = {}

--- Checks that `given` has no other options than `known`, a table from names to types. Returns it, or `none`.
function options.check(given, known)
  if given == nil then
    return options.none
  end
  options.expect(given, "table", "the options")
  for name, value in pairs(given) do
    if known[name] == nil then
      options.refuse("there is no option '" .. tostring(name) .. "'")
    elseif known[name] ~= "any" then
      options.expect(value, known[name], "the option '" .. name .. "'")
    end
  end
  return given
end

--- Milliseconds of seconds. Rounds up: a short wait is no try, and a short lease not the default one.
function options.ms(seconds, what)
  options.expect(seconds, "number", what)
  if not (seconds > -1e12 and seconds < 1e12) then
    options.refuse(what .. " of " .. seconds .. " seconds is " .. (seconds == seconds and "too long" or "no time"))
  end
  local ms = math.ceil(seconds * 1000 - 1e-6)
  if ms == 0 and seconds ~= 0 then
    return seconds > 0 and 1 or -1
  end
  return ms
end

--- A wait in milliseconds: nil and math.huge wait without limit.
function options.wait_ms(seconds)
  if seconds == nil or seconds == math.huge then
    return -1
  end
  local ms = options.ms(seconds, "the wait")
  return ms == -1 and -2 or ms -- no number of seconds but infinity waits without limit
end

-- The library's options under their names here: watchdog_lease for watchdog_lease_ms.
local library = {}
for index = 0, math.huge do
  local name = native.belay_option_name(index)
  if name == nil then
    break
  end
  local is_ms = native.belay_option_text(name, names.option.UNIT) == "ms"
  local is_number = native.belay_option_text(name, names.option.RANGE):find "^%d+%.%.%d+$" ~= nil
  library[is_ms and name:gsub("_ms$", "") or name] = { name = name, is_ms = is_ms, kind = is_number and "number" or "string" }
end

--- The names of all options of `belay.connect`, and a few words on each.
function options.about()
  local about = {}
  for name, option in pairs(library) do
    about[name] = native.belay_option_text(option.name, names.option.ABOUT)
  end
  return about
end

-- Name and value of an option as the library reads it, which judges strings that are no number.
local function text(name, value)
  local option, what = library[name], "the option '" .. tostring(name) .. "'"
  if not option then
    options.refuse("there is no option '" .. tostring(name) .. "'")
  elseif option.is_ms and tonumber(value) then
    value = ("%.0f"):format(options.ms(tonumber(value), what))
  elseif type(value) ~= "string" then
    value = tostring(options.expect(value, option.kind, what))
  end
  if value:find("\0", 1, true) then
    options.refuse(what .. " contains a NUL")
  end
  return option.name, value
end

--- Creates the library's client with these options. Returns its handle; or nil and an event.
function options.client(given)
  local handle, refused = native.belay_options_new(), names.status.OK
  for name, value in pairs(given) do
    local status = native.belay_options_set(handle, text(name, value))
    refused = refused ~= names.status.OK and refused or status
  end
  local client = native.belay_client_new(handle)
  if client ~= nil then
    return client
  end
  local event = native.failure(refused ~= names.status.OK and refused or names.status.INVALID_ARGUMENT)
  event.message = native.belay_options_error(handle)
  return nil, event
end

return options
