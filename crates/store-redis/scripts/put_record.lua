-- Stores a player's record if the one that is there has this version. One that has the new version already is the
-- same one.
-- Keys: record, fence. Arguments: expected version (empty: none), new version, record.
-- Reply: whether it is stored (1 or 0).
local version = redis.call('GETRANGE', KEYS[1], 0, 15)
if version == ARGV[1] then
  redis.call('SET', KEYS[1], ARGV[2] .. ARGV[3])
end
fence(KEYS[2])
return { (version == ARGV[1] or version == ARGV[2]) and 1 or 0 }
