-- Put in front of each verb that takes, sets or breaks something. Where `?` and the caller's inbox follow the call's mark, it
-- checks first that the user may run every command that the verb may need (RIGHTS). A verb that misses one later leaves behind
-- what it has written.
local mark = ARGV[#ARGV] or ''
if mark:sub(@MARK_SIZE@ + 1, @MARK_SIZE@ + 1) == '?' then
  local inbox = mark:sub(@MARK_SIZE@ + 2)
  -- So many arguments after the first key: newer Redis (8.6.2, say) refuses to be asked about a command with too few or too many.
  local is_sharded = inbox:find('}:', 1, true) and redis.REDIS_VERSION_NUM
  local unused = is_sharded and 'publish' or 'spublish'
  local counts = { time = -1, pexpire = 1, evalsha = 1, hget = 1, hdel = 1, hmget = 1, zscore = 1, zrem = 1, publish = 1,
    spublish = 1, setrange = 2, zadd = 2, zcount = 2, zrange = 2, zrevrange = 2, zremrangebyrank = 2, getrange = 2, mset = 2,
    set = 3, hset = 3 }
  local function arguments(right, key)
    return unpack({ key, mark, key, mark }, 1, 1 + (counts[right] or 0))
  end
  -- Redis before 7.0 cannot be asked. There each command is tried; with these arguments it fails or changes nothing. DEL is tried
  -- on an absent key; where there is none, it is not tried.
  local function is_allowed_before_7(right)
    local key = KEYS[1]
    if right == 'del' then
      key = nil
      for _, declared in ipairs(KEYS) do
        key = redis.pcall('EXISTS', declared) == 0 and declared or key
      end
    end
    local tried = key and redis.pcall(right, arguments(right, key))
    return type(tried) ~= 'table' or not tried.err or not tried.err:find("can't run this command", 1, true)
  end
  for right in ([[RIGHTS]]):gmatch('%l+') do
    local asked, allowed = true, nil
    if right == unused then
      allowed = true
    elseif redis.acl_check_cmd then
      asked, allowed = pcall(redis.acl_check_cmd, right, arguments(right, right:find('publish') and inbox or KEYS[1]))
    else
      allowed = is_allowed_before_7(right)
    end
    if not asked then
      -- A check that fails in itself takes no lock away. The mark that the reply repeats tells the client.
      table.remove(ARGV)
      table.insert(ARGV, mark .. '!')
    elseif not allowed then
      return redis.error_reply('NOPERM no permission to run ' .. right:upper())
    end
  end
end
