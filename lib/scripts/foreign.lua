-- What stands in place of a record.

-- Why a text is no record of a kind, as an error reply.
local function is_not(text, key, kind)
  local kinds = { 'lock', 'semaphore', 'latch' }
  local version, other = text:byte(1, 2)
  other = kinds[other]
  local reason = ' does not hold a ' .. kinds[kind]
  if #text >= @LATCH_SIZE@ and version > @VERSION@ and version <= @LAST_VERSION@ then
    return redis.error_reply('BELAYVERSION key ' .. key .. ' was written by a newer version of Belay')
  elseif #text >= @LATCH_SIZE@ and version > 0 and version < @VERSION@ and other then
    return redis.error_reply('BELAYVERSION key ' .. key .. ' was written by an older version of Belay')
  elseif version == @VERSION@ and other and other ~= kinds[kind] then
    reason = ' holds a ' .. other .. ', not a ' .. kinds[kind]
  end
  return redis.error_reply('BELAYTYPE key ' .. key .. reason)
end
