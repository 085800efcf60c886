-- What a record says. Every verb reads whatever it may need before it writes: an error changes nothing.

local function is_kind(byte)
  return byte == @LOCK@ or byte == @SEMAPHORE@
end

local function is_joint(record)
  return record:byte(4) == 0
end

-- Whether this is a record that we can read.
local function is_record(text)
  local kind = text:byte(2)
  if #text < @HEADER_SIZE@ or text:byte(1) ~= @VERSION@ or not is_kind(kind) then
    return false
  end
  local fence, since, last, until_, _, _, _, delay = struct.unpack('<ddddHHc30d', text, @FENCE_OFFSET@ + 1)
  if not are_sound(fence, since, last, until_, delay) then
    return false
  end
  if not is_joint(text) then
    return kind == @LOCK@
  end
  if #text < @HEADER_SIZE@ + @JOINT_SIZE@ then
    return false
  end
  local used, limit, stands = struct.unpack('@JOINT@', text, @HEADER_SIZE@ + 1)
  return sound(used) and sound(limit) and sound(stands) and (limit > 0) == (kind == @SEMAPHORE@)
end

-- Why `record` cannot be read as one of `kind` (nil: of any that the verb knows), as an error reply; nil where it can or is
-- absent.
local function unreadable(record, key, kind)
  local fine = not record or is_record(record) and (not kind or record:byte(2) == kind)
  return not fine and is_not(record, key, kind or @LOCK@) or nil
end

-- The record at a key; false where there is none, or only what remembers the requests of a latch that has ended.
local function record_at(key, ts)
  local record = redis.call('GET', key)
  if record and #record >= @LATCH_SIZE@ and record:byte(1) == @VERSION@ and record:byte(2) == @LATCH@ then
    local until_ = struct.unpack('<d', record, @LATCH_END_OFFSET@ + 1)
    if until_ > 0 and until_ < ts then
      return false
    end
  end
  return record
end

local function is_claim(record, claim)
  return record:sub(4, 33) == claim
end

local function expires(record)
  return (struct.unpack('<d', record, @EXPIRES_OFFSET@ + 1))
end

-- Until when nobody else gets it.
local function kept_until(record)
  return expires(record) + struct.unpack('<d', record, @DELAY_OFFSET@ + 1)
end
