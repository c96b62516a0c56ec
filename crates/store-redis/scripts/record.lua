-- Reads a player's record, behind its version.
-- Keys: record, fence. Reply: version and record, or nil.
local kept = redis.call('GET', KEYS[1])
fence(KEYS[2])
return { kept }
