-- Stores a new invite, or finds the one that is there.
-- Keys: invite, clock.
-- Arguments: record, the last moment at which it can be accepted (ms), that at which it can be read (ms).
-- Reply: time, outage sum, the record that is stored.
local now, outage = shard_time(KEYS[2])
local kept = redis.call('HMGET', KEYS[1], 'record', 'until')
if kept[1] and now <= tonumber(kept[2]) then
  return { now, outage, kept[1] }
end
local until_ms = tonumber(ARGV[3])
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'record', ARGV[1], 'expires', ARGV[2], 'until', ARGV[3])
redis.call('PEXPIRE', KEYS[1], math.max(until_ms - now, KEPT_MIN_MS))
return { now, outage, ARGV[1] }
