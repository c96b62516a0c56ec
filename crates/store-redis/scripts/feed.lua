-- Entries of a shard's feed, in order.
-- Keys: feed, clock. Arguments: the id to begin with, at most how many.
-- Reply: time, outage sum, how many entries there have ever been, the id of the oldest one that is kept or nil,
--   ids and records by turns.
local now, outage = shard_time(KEYS[2])
local oldest = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
local entries = {}
for _, entry in ipairs(redis.call('XRANGE', KEYS[1], ARGV[1], '+', 'COUNT', ARGV[2])) do
  entries[#entries + 1] = entry[1]
  entries[#entries + 1] = entry[2][2]
end
local ever = tonumber(redis.call('HGET', KEYS[2], 'feed')) or 0
-- A nil would end the reply.
return { now, outage, ever, oldest and oldest[1] or false, entries }
