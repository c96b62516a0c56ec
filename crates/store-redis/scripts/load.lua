-- Reads a match.
-- Keys: head, clock. Reply: time, outage sum, what is stored or nil.
local now, outage = shard_time(KEYS[2])
local value = redis.call('GET', KEYS[1])
if value then
  now = math.max(now, stamp_of(value))
end
return { now, outage, value }
