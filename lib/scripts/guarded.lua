-- Calls a verb. Where it fails over a key of another type, the error names the key.
local function guarded(verb)
  local fine, reply = pcall(verb)
  if fine then
    return reply
  end
  local failure = type(reply) == 'table' and reply or redis.error_reply(reply)
  local types = { 'string', 'string', 'zset', 'hash', 'zset' }
  for index, key in ipairs(failure.err:find('WRONGTYPE', 1, true) and KEYS or {}) do
    local type_of = redis.pcall('TYPE', key).ok
    if type_of and type_of ~= 'none' and type_of ~= types[(index - 1) % 5 + 1] then
      return redis.error_reply('BELAYTYPE key ' .. key .. ' holds a ' .. type_of .. ', which is not of Belay')
    end
  end
  return failure
end
