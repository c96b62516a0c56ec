-- The matches of a shard at whose time something is due, earliest first.
-- Keys: due set, clock. Arguments: at most how many. Reply: time, outage sum, matches.
local now, outage = shard_time(KEYS[2])
return { now, outage, redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[1]) }
