-- Reads an invite.
-- Keys: invite, clock. Reply: time, outage sum, record or nil.
local now, outage = shard_time(KEYS[2])
local kept = redis.call('HMGET', KEYS[1], 'record', 'until')
return { now, outage, kept[1] and now <= tonumber(kept[2]) and kept[1] }
