-- Calls a verb. The last argument is the call's mark, which its reply repeats, so that it is never taken for another call's.
-- Errors start with their code on every server. Where the verb fails over a key of another type, the error names the key.
local function guarded(verb)
  local mark = table.remove(ARGV)
  local fine, reply = pcall(verb)
  if fine and type(reply) == 'string' then
    return reply .. mark
  elseif fine and not reply.err then
    reply[#reply + 1] = mark
    return reply
  end
  local failure = type(reply) == 'table' and reply or redis.error_reply(reply)
  -- What Redis before 7.0 refuses a script says where, and has a dash or no code: "@user_script: 12: -OOM ...".
  local dash, words = failure.err:match('^%S+: %-?%d+: (%-?)(.*)')
  if words then
    failure = redis.error_reply((dash == '-' and '' or 'ERR ') .. words)
  end
  if fine then
    return failure
  end
  -- Of one key or two, the last is to blame if the first is not.
  local types = #KEYS == 1 and {} or #KEYS == 2 and { 'string' } or { 'string', 'string', 'hash', 'zset' }
  for index, key in ipairs(failure.err:find('WRONGTYPE', 1, true) and KEYS or {}) do
    local type_of = redis.pcall('TYPE', key).ok
    if type_of and type_of ~= 'none' and type_of ~= types[(index - 1) % 4 + 1] then
      return redis.error_reply('BELAYTYPE key ' .. key .. ' holds a ' .. type_of .. ', which is not of Belay')
    end
  end
  return failure
end
