-- Closes an invite if it is open and not expired.
-- Keys: invite, clock. Arguments: the record once it is closed, how long it can be read then (ms).
-- Reply: time, outage sum, the record that is stored or nil.
local now, outage = shard_time(KEYS[2])
local kept = redis.call('HMGET', KEYS[1], 'record', 'until', 'expires', 'closed')
local record = kept[1] and now <= tonumber(kept[2]) and kept[1]
if not record or kept[4] or now > tonumber(kept[3]) then
  return { now, outage, record }
end
redis.call('HSET', KEYS[1], 'record', ARGV[1], 'until', now + tonumber(ARGV[2]), 'closed', 1)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return { now, outage, ARGV[1] }
