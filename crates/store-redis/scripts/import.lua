-- Takes over a match from another store, as a whole. Again is as good as once.
-- Keys: head, turns, due set, clock.
-- Arguments: match, version, stamp (ms), next deadline (ms; 0: none), the last moment at which the match is
--   kept (ms; 0: live), record, number of turns, number of follow-ups, turns, follow-ups.
-- Reply: time, outage sum, what is stored now.
local now, outage = shard_time(KEYS[4])
local turns, count = tonumber(ARGV[7]), tonumber(ARGV[8])
local waiting = arguments(9 + turns, count)
local stamp, deadline = tonumber(ARGV[3]), tonumber(ARGV[4])
redis.call('DEL', KEYS[1], KEYS[2])
for at = 9, 8 + turns do
  redis.call('RPUSH', KEYS[2], ARGV[at])
end
local due = due_time(stamp, deadline, waiting)
redis.call('ZREM', KEYS[3], ARGV[1])
schedule(KEYS[3], ARGV[1], 0, due)
return { now, outage, store(KEYS[1], KEYS[2], {
  version = ARGV[2],
  stamp = stamp,
  due = due,
  deadline = deadline,
  kept_until = tonumber(ARGV[5]),
  waiting = waiting,
  record = ARGV[6],
}, now) }
