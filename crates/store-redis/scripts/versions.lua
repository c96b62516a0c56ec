-- The versions of some matches of a shard.
-- Keys: clock, heads. Reply: time, outage sum, the first 32 bytes of each envelope: version, stamp, due
-- time; empty if there is no such match.
local now, outage = shard_time(KEYS[1])
local versions = {}
for at = 2, #KEYS do
  versions[#versions + 1] = redis.call('GETRANGE', KEYS[at], 0, 31)
end
return { now, outage, versions }
