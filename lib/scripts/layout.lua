-- How values are packed; README.md says what their fields are.
--
-- KEYS of one resource, in this order wherever a verb names them:
--   1 record   who holds it: HEADER, then the holder's info text; where several hold it together: HEADER, JOINT, their group
--   2 fence    the highest fence given out in this slot: a packed double
--   3 queue    sorted set of who waits, by ticket
--   4 waiters  hash, who waits -> ENTRY, group, info text; '=' and a member -> MEMBER, info text
--   5 ends     sorted set of those who hold it together (members), by when they no longer do
-- A claim is a client id (22 characters) and an epoch (packed double): 30 bytes that are compared as they stand. Waiters and
-- members go by their client's id; those of a semaphore by their claim.
-- Times are microseconds of this server's clock.

local VERSION, LOCK, SEMAPHORE = @VERSION@, @LOCK@, @SEMAPHORE@
local HEADER, HEADER_SIZE, AFTER_CLAIM = '@HEADER@', @HEADER_SIZE@, '@AFTER_CLAIM@'
local WAITS_OFFSET, FENCE_OFFSET, LAST_OFFSET, EXPIRES_OFFSET, FROM_OFFSET, DELAY_OFFSET =
  @WAITS_OFFSET@, @FENCE_OFFSET@, @LAST_OFFSET@, @EXPIRES_OFFSET@, @FROM_OFFSET@, @DELAY_OFFSET@
local JOINT, JOINT_SIZE = '@JOINT@', @JOINT_SIZE@
-- Also in place of the claim where several hold it together. No claim begins with a zero.
local NOBODY = '@NOBODY@'
-- In place of the claim that looks after a handoff: nobody does, and the next one that is queued has to.
local ANYBODY = '@ANYBODY@'
local ENTRY, ENTRY_SIZE, LIMIT_OFFSET, ASKED_OFFSET, SECRET_OFFSET =
  '@ENTRY@', @ENTRY_SIZE@, @LIMIT_OFFSET@, @ASKED_OFFSET@, @SECRET_OFFSET@
local MEMBER, MEMBER_SIZE = '@MEMBER@', @MEMBER_SIZE@
local CLIENT_SIZE, CLAIM_SIZE, LONGEST_GROUP = @CLIENT_SIZE@, @CLAIM_SIZE@, @LONGEST_GROUP@

local function epoch_of(packed)
  return (struct.unpack('<d', packed))
end
