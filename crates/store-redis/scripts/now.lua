-- Asks a shard's clock, and shows it that somebody is there.
-- Keys: clock. Reply: time, outage sum.
local now, outage = shard_time(KEYS[1])
return { now, outage }
