-- Takes off follow-ups that are done, if the match is still at the version they were done for. The
-- version stays.
-- Keys: head, turns, due set, clock.
-- Arguments: match, version, number of follow-ups, follow-ups.
-- Reply: time, outage sum, status.
local now, outage = shard_time(KEYS[4])
local value = redis.call('GET', KEYS[1])
if not value then
  redis.call('ZREM', KEYS[3], ARGV[1])
  return { now, outage, NOT_FOUND }
end
local _, done = arguments(4, tonumber(ARGV[3]))
local before, at = follow_ups_of(value)
local waiting = {}
for _, follow_up in ipairs(before) do
  if not done[follow_up] then
    waiting[#waiting + 1] = follow_up
  end
end
if version_of(value) == ARGV[2] and #waiting < #before then
  local stamp, deadline = stamp_of(value), deadline_of(value)
  local due = due_time(stamp, deadline, waiting)
  schedule(KEYS[3], ARGV[1], number(value, DUE_AT + 1), due)
  store(KEYS[1], KEYS[2], {
    version = ARGV[2],
    stamp = stamp,
    due = due,
    deadline = deadline,
    kept_until = kept_until_of(value),
    waiting = waiting,
    record = string.sub(value, at),
  }, now)
end
return { now, outage, COMMITTED }
