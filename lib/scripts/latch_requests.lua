-- Requests of a latch that were carried out. They follow the info text in its record, each with a time, which is never before
-- that of the one before.

-- Those that are still remembered, and what the record is without any.
local function remembered_of(record, ts)
  local _, _, _, _, _, keep, _, _, _, _, info_size = struct.unpack('@LATCH_HEADER@', record)
  local from = @LATCH_SIZE@ + info_size
  local low, high = 0, math.floor((#record - from) / @LATCH_REQUEST_SIZE@)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if struct.unpack('<d', record, from + middle * @LATCH_REQUEST_SIZE@ + @CLAIM_SIZE@ + 1) + keep < ts then
      low = middle + 1
    else
      high = middle
    end
  end
  return record:sub(from + low * @LATCH_REQUEST_SIZE@ + 1), record:sub(1, from)
end

-- How long a record may become before it is looked for what can be forgotten: so that this costs little beside what came since.
local function room_of(size, requests)
  return size + math.min(math.max(#requests, @SKIPS@ * @LATCH_REQUEST_SIZE@), @LATCH_ROOM@)
end
