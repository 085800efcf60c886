-- Messages to an inbox.

-- To this server's own clients. Those that have stayed at a replica, a demoted master, would believe a grant that is taken back
-- here, as nobody has heard it. An error ends the whole call: nothing is written while this server replicates nothing.
-- In a cluster each slot has channels of its own. From Redis 7.0 on these are shard channels.
local function tell(inbox, client, message)
  local channel = inbox .. client:sub(1, @CLIENT_SIZE@)
  local is_sharded = inbox:sub(-2) == '}:' and redis.REDIS_VERSION_NUM
  redis.set_repl(redis.REPL_NONE)
  local receivers = is_sharded and redis.call('SPUBLISH', channel, message) or redis.call('PUBLISH', channel, message)
  redis.set_repl(redis.REPL_ALL)
  return receivers
end

-- Tells a waiter what it is to believe, with a MAC before the key that only those can make who know the secret of its entry:
-- nested as HMAC is (RFC 2104), so that nobody who has seen one can make that of a longer message.
local function tell_surely(inbox, who, secret, message, key)
  local client = who:sub(1, @CLIENT_SIZE@)
  local mac = redis.sha1hex(secret .. redis.sha1hex(secret .. client .. message .. key))
  return tell(inbox, client, message .. mac .. key)
end
