-- Resolved turns of a match, in order.
-- Keys: head, turns, clock. Arguments: index of the first and of the last, from 0.
-- Reply: time, outage sum, status, turns.
local now, outage = shard_time(KEYS[3])
if redis.call('EXISTS', KEYS[1]) == 0 then
  return { now, outage, NOT_FOUND }
end
return { now, outage, COMMITTED, redis.call('LRANGE', KEYS[2], ARGV[1], ARGV[2]) }
