-- Moves a match in the due set, if it is still at this version and not at rest.
-- Keys: head, due set, clock.
-- Arguments: match, version, due time (ms).
-- Reply: time, outage sum, status.
local now, outage = shard_time(KEYS[3])
local value = redis.call('GET', KEYS[1])
if not value then
  redis.call('ZREM', KEYS[2], ARGV[1])
  return { now, outage, NOT_FOUND }
end
local rests = kept_until_of(value) > 0 and string.byte(value, 49) == 0
if version_of(value) == ARGV[2] and not rests then
  redis.call('SETRANGE', KEYS[1], DUE_AT, struct.pack('>I8', tonumber(ARGV[3])))
  redis.call('ZADD', KEYS[2], ARGV[3], ARGV[1])
end
return { now, outage, COMMITTED }
