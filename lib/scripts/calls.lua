-- What every verb begins with: its call is checked, the time is read.

local function now()
  local time = redis.call('TIME')
  local ts = time[1] * 1000000 + time[2]
  if ts > @LAST_FOLLOWED@ then
    error(redis.error_reply('BELAYARGS the clock of this server is past the year 2112'))
  end
  return ts
end

-- Whether it is a whole number within bounds. Any other is not Belay's, and no command is given it.
local function sound(number)
  return number >= 0 and number <= @LARGEST@ and number % 1 == 0
end

-- Whether five numbers are. Spelled out, as calls cost.
local function are_sound(a, b, c, d, e)
  local limit = @LARGEST@
  return a >= 0 and b >= 0 and c >= 0 and d >= 0 and e >= 0 and a <= limit and b <= limit and c <= limit and d <= limit
    and e <= limit and (a % 1) + (b % 1) + (c % 1) + (d % 1) + (e % 1) == 0
end

-- The epoch of a claim, which begins behind so many bytes (0 if none is said).
local function epoch_of(text, behind)
  return (struct.unpack('<d', text, @CLIENT_SIZE@ + 1 + (behind or 0)))
end

-- Ends the verb with an error where a call is none that Belay's clients make.
local function check_call(as_sent)
  if not as_sent then
    error(redis.error_reply('BELAYARGS the keys or arguments are not as Belay sends them'))
  end
end
