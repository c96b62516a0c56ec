-- Stores a change of a match if the match is still at the version that the change was judged on, and its
-- stamp holds. The checks are those of `Commit::refused_at`, in its order.
-- Keys: head, turns, due set, clock, feed.
-- Arguments: match, expected version, next version, stamp (ms), outage sum that it was judged under (ms),
--   the last moment at which it may be stored (ms; empty: any), next deadline (ms; 0: none), the last
--   moment at which the match is kept (ms; 0: live), channel, record, turn that resolved (or empty),
--   entry of the feed (or empty), what the hint has behind the envelope (or empty), number of follow-ups,
--   follow-ups.
-- Reply: time, outage sum, status; then if committed: the follow-ups that wait now, and what is still to
--   be told on the channel; if in conflict: what is stored.
local now, outage = shard_time(KEYS[4])
local value = redis.call('GET', KEYS[1])
if not value then
  return { now, outage, NOT_FOUND }
end
local head_stamp, stamp = stamp_of(value), tonumber(ARGV[4])
now = math.max(now, head_stamp)
if version_of(value) ~= ARGV[2] then
  return { now, outage, CONFLICT, value }
end
local in_order = head_stamp <= stamp and stamp <= now
if not in_order or now - stamp > STAMP_AGE_MAX_MS or tonumber(ARGV[5]) ~= outage then
  return { now, outage, RESTAMP }
end
if ARGV[6] ~= '' and now > tonumber(ARGV[6]) then
  return { now, outage, TOO_LATE }
end

local new, is_new = arguments(15, tonumber(ARGV[14]))
local waiting = {}
for _, follow_up in ipairs((follow_ups_of(value))) do
  if not is_new[follow_up] then
    waiting[#waiting + 1] = follow_up
  end
end
for _, follow_up in ipairs(new) do
  waiting[#waiting + 1] = follow_up
end
if ARGV[11] ~= '' then
  redis.call('RPUSH', KEYS[2], ARGV[11])
end
if ARGV[12] ~= '' then
  append(KEYS[5], KEYS[4], now, ARGV[12])
end
local deadline = tonumber(ARGV[7])
local due = due_time(stamp, deadline, waiting)
schedule(KEYS[3], ARGV[1], number(value, DUE_AT + 1), due)
value = store(KEYS[1], KEYS[2], {
  version = ARGV[3],
  stamp = stamp,
  due = due,
  deadline = deadline,
  kept_until = tonumber(ARGV[8]),
  waiting = waiting,
  record = ARGV[10],
}, now)
return { now, outage, COMMITTED, written(waiting), tell(ARGV[9], value .. ARGV[13]) }
