-- Guard: performs one command that writes a key of the user's, unless a newer fence has been seen for that key: what a holder
-- learns too late that it has lost, it cannot spoil any more.
--
-- KEYS  1 the user's key, of any type   2 guard: the newest fence seen for it, a packed double
-- ARGV  1 packed: fence, not-after us (do nothing beyond that time)   2 name of the command   3 and on: its arguments after
--         the key
-- Reply: { 1 written or 2 stale, newest fence seen (packed double), the command's reply (2: nothing) }; or, packed: 4 (late),
--         server time
-- A fence as new as the newest writes: a holder writes as often as it likes. Stale: nothing is changed. A command that fails
-- answers its own error, and its fence is not remembered, as nothing was written under it: every error changes nothing. So does
-- that of a user who may not keep the fence.
-- Not safe to repeat where the command is not: who has lost the reply must not ask again.
-- with: calls fences

local WRITTEN, STALE = 1, 2

-- Commands that write the key that is their first argument, and touch no other.
local WRITES = [[ append bitfield decr decrby del expire expireat geoadd getdel getex getset hdel hincrby hincrbyfloat hmset hset
 hsetnx incr incrby incrbyfloat linsert lpop lpush lpushx lrem lset ltrim persist pexpire pexpireat pfadd psetex rpop rpush rpushx
 sadd set setbit setex setnx setrange spop srem unlink xadd xdel xtrim zadd zincrby zpopmax zpopmin zrem zremrangebylex
 zremrangebyrank zremrangebyscore ]]

-- What follows the key of these is further keys.
local ALONE = { del = true, unlink = true }

check_call(#KEYS >= 2 and #ARGV >= 2 and #ARGV[1] == 16)
local fence, not_after = struct.unpack('<dd', ARGV[1])
local packed, name = ARGV[1]:sub(1, 8), ARGV[2]:lower()
check_call(sound(fence) and fence > 0 and fence <= @MOST_FENCE@ and sound(not_after))
if not name:find('^%l+$') or not WRITES:find('%s' .. name .. '%s') or (ALONE[name] and #ARGV > 2) then
  return redis.error_reply('BELAYCOMMAND this is no command that writes one key and touches no other')
end

local ts = now()
if ts > not_after then
  return struct.pack('<Bd', @LATE@, ts)
end
-- Redis 7.0 does not say which command the user may not run.
local function failed(reply, command)
  local denied = reply.err:find("can't run this command", 1, true) or reply.err:find("permissions to run the '", 1, true)
  return denied and redis.error_reply('NOPERM no permission to run ' .. command:upper()) or reply
end

local stored = redis.pcall('GET', KEYS[2])
if type(stored) == 'table' then
  local other = stored.err:find('WRONGTYPE', 1, true)
  return other and redis.error_reply('BELAYTYPE key ' .. KEYS[2] .. ' does not hold a fence') or failed(stored, 'GET')
end
local newest = stored and fence_in(KEYS[2], stored) or 0
if fence < newest then
  return { STALE, stored }
end

-- Whether the new fence can be kept is tried by a SET that changes nothing: a write whose fence is not kept would let an older
-- one follow. Full memory keeps it from nothing: a command that frees memory lets a SET follow it.
if fence > newest then
  local tried = redis.pcall('SET', KEYS[2], stored or packed, 'XX', 'KEEPTTL')
  if type(tried) == 'table' and tried.err and not tried.err:find('OOM', 1, true) then
    return failed(tried, 'SET')
  end
end

local reply = redis.pcall(name, KEYS[1], unpack(ARGV, 3))
if type(reply) == 'table' and reply.err then
  return failed(reply, name)
end
if fence > newest then
  redis.call('SET', KEYS[2], packed)
end
return { WRITTEN, packed, reply }
