-- What is stored of a match: an envelope that scripts read, then the record that only nodes read.
--   1..16   version: counter, 8 bytes, and random bytes, 8
--   17..24  stamp of the last commit, ms          (numbers are big-endian)
--   25..32  where the match stands in the due set, ms; 0: it does not
--   33..40  its next deadline, ms; 0: none
--   41..48  the last moment at which it is kept, ms; 0: it is live
--   49      how many follow-ups wait; each is a length, 1 byte, and that many bytes
--   then    the record
local DUE_AT = 24

local function number(value, at)
  return (struct.unpack('>I8', value, at))
end

local function version_of(value) return string.sub(value, 1, 16) end
local function stamp_of(value) return number(value, 17) end
local function deadline_of(value) return number(value, 33) end
local function kept_until_of(value) return number(value, 41) end

-- The follow-ups that wait, and where the record begins.
local function follow_ups_of(value)
  local waiting, at = {}, 50
  for _ = 1, string.byte(value, 49) do
    local length = string.byte(value, at)
    waiting[#waiting + 1] = string.sub(value, at + 1, at + length)
    at = at + 1 + length
  end
  return waiting, at
end

-- Follow-ups as they are written: their number, then each with its length.
local function written(follow_ups)
  local parts = { string.char(#follow_ups) }
  for _, follow_up in ipairs(follow_ups) do
    parts[#parts + 1] = string.char(#follow_up) .. follow_up
  end
  return table.concat(parts)
end

-- `count` arguments from `first` on, and the same as a set.
local function arguments(first, count)
  local list, set = {}, {}
  for at = first, first + count - 1 do
    list[#list + 1] = ARGV[at]
    set[ARGV[at]] = true
  end
  return list, set
end

-- Where a match belongs in the due set: at once while a follow-up waits, else at its next deadline.
local function due_time(stamp, deadline, waiting)
  return #waiting > 0 and stamp or deadline
end

-- Puts a match where it belongs in the due set, if it does not stand there.
local function schedule(due_set, match, old, new)
  if old == new then
    return
  elseif new == 0 then
    redis.call('ZREM', due_set, match)
  else
    redis.call('ZADD', due_set, new, match)
  end
end

-- Stores a match. One that is over and has nothing left to do is kept until its time.
local function store(head, turns, state, now)
  local value = state.version
    .. struct.pack('>I8I8I8I8', state.stamp, state.due, state.deadline, state.kept_until)
    .. written(state.waiting) .. state.record
  if state.kept_until > 0 and #state.waiting == 0 then
    local kept_ms = math.max(state.kept_until - now, KEPT_MIN_MS)
    redis.call('SET', head, value, 'PX', kept_ms)
    redis.call('PEXPIRE', turns, kept_ms)
  else
    redis.call('SET', head, value)
  end
  return value
end
