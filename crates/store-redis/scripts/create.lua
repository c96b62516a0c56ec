-- Stores a new match, or finds the one that is there.
-- Keys: head, turns, due set, clock.
-- Arguments: match, version, created (ms), next deadline (ms; 0: none), record, number of follow-ups,
--   follow-ups.
-- Reply: time, outage sum, what is stored now.
local now, outage = shard_time(KEYS[4])
local value = redis.call('GET', KEYS[1])
if value then
  return { math.max(now, stamp_of(value)), outage, value }
end
local waiting = arguments(7, tonumber(ARGV[6]))
local stamp, deadline = math.max(now, tonumber(ARGV[3])), tonumber(ARGV[4])
local due = due_time(stamp, deadline, waiting)
schedule(KEYS[3], ARGV[1], 0, due)
value = store(KEYS[1], KEYS[2], {
  version = ARGV[2],
  stamp = stamp,
  due = due,
  deadline = deadline,
  kept_until = 0,
  waiting = waiting,
  record = ARGV[5],
}, now)
return { stamp, outage, value }
