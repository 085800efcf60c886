-- The usual case of what several may hold: there is room, and nobody waits. Whoever joins leaves it to others to drop those whose
-- leases have ended, and to prolong a name that is in use.
if usual and group > 0 or fine and kind == @SEMAPHORE@ and group == 0 and permits > 0 and limit >= 0 then
  local record, who = redis.pcall('GET', KEYS[1]), claim:sub(1, kind == @LOCK@ and @CLIENT_SIZE@ or @CLAIM_SIZE@)
  local until_, theirs = ts + lease + delay, request:sub(@REQUEST_SIZE@ + 1, @REQUEST_SIZE@ + group)
  local used, set, stands, fence, fits = 0, limit, 0, nil, false
  if not record then
    fits = (group > 0 or permits <= limit) and redis.pcall('EXISTS', KEYS[3], KEYS[4]) == 0
  elseif type(record) == 'string' and #record >= @HEADER_SIZE@ + @JOINT_SIZE@ then
    local begin, its_kind, waits, holder, its_fence = struct.unpack('<BBBc30d', record)
    local is_joint = holder == '@NOBODY@'
    used, set, stands = struct.unpack('@JOINT@', record, @HEADER_SIZE@ + 1)
    fence = group > 0 and its_fence or nil
    fits = begin == @VERSION@ and its_kind == kind and waits == 0 and is_joint and stands >= 0 and its_fence >= 0
      and (group > 0 and used > 0 and set == 0 and record:sub(@HEADER_SIZE@ + @JOINT_SIZE@ + 1) == theirs
        or group == 0 and used >= 0 and set > 0 and (limit == 0 or limit == set) and used + permits <= set)
      and redis.pcall('EXISTS', KEYS[4]) == math.min(used, 1)
      and (used == 0 or stands >= until_ + @STANDS_US@ / 2 and not redis.pcall('ZSCORE', KEYS[4], who))
  end
  local stored = fits and redis.pcall('GET', KEYS[2]) or '\0\0\0\0\0\0\0\0'
  local above = fits and #stored == 8 and struct.unpack('<d', stored) or -1
  local new_fence = math.max(above + 1, seen + 1, ts)
  local round = (permits + limit + used + set + stands + above + (fence or 0)) % 1 == 0
  if above >= 0 and round and until_ + used + set + stands < @LARGEST@ and new_fence < @LAST_FOLLOWED@
    and (not fence or seen <= above and fence <= above)
    and (fence or redis.pcall('SETRANGE', KEYS[2], '0', struct.pack('<d', new_fence)) == 8) then
    fence = fence or new_fence
    local seat = struct.pack('@MEMBER@c0', claim, fence, ts, delay, permits, 1, 0,
      request:sub(@REQUEST_SIZE@ + 1 + group + prefix))
    local prolongs = stands < until_ + @STANDS_US@ / 2
    stands = prolongs and 2 * until_ - ts + @STANDS_US@ or stands
    local joint = struct.pack('@JOINT@', used + permits, set, stands)
    local ms = string.format('%d', (stands - ts) / 1000 + 1)
    local lasts = group > 0 and ms or string.format('%d', (stands - ts) / 1000 + 1 + @LIMIT_MS@)
    local nobody, its = '@NOBODY@', group > 0 and fence or 0
    local put = record or redis.pcall('SET', KEYS[1], struct.pack('@HEADER@c0c0', version, kind, 0, nobody, its, ts, its,
      0, 0, 0, nobody, 0, joint, theirs), 'PX', lasts).ok
    local score = string.format('%.0f', until_)
    if put and (not record or not prolongs or redis.pcall('PEXPIRE', KEYS[1], lasts) == 1)
      and redis.pcall('ZADD', KEYS[4], score, seat, '-' .. score, who) == 2
      and (used > 0 or redis.pcall('PEXPIRE', KEYS[4], ms) == 1)
      and (not record or redis.pcall('SETRANGE', KEYS[1], '@HEADER_SIZE@', joint) == #record) then
      return struct.pack('<BdddBdc0', @GRANTED@, ts, fence, fence, 0, permits, mark)
    end
  end
end
