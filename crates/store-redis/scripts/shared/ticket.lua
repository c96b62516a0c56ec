-- A pool's tickets are a hash: a ticket's id, in hexadecimal digits → a header that scripts read, then the wish
-- that only nodes read.
--   1       where it stands: WAITS, …
--   2..9    when its player began to wait, ms; big-endian
--   10..25  the match that it was found for, or the one that was aborted; zeros where there was none
--   26..    the wish; nothing of a ticket that was closed before it came
-- Beside it: `until`, the last moment of each ticket, ms: that of its lease while it waits, else the last one at
-- which it can be read; `changes`, the number of each ticket's last change; `pool`, the number of the pool's last
-- change and the usual wait, ms; `owed`, the matches that were claimed, and `owing`, when.
local TICKETS, CHANGES, UNTIL, POOL, OWED, OWING, FENCE = unpack(KEYS)
local NO_MATCH, HEADER_BYTES = string.rep('\0', 16), 25

local function waits(ticket)
  local state = string.byte(ticket)
  return state == WAITS or state == WAITS_AGAIN
end

local function is_matched(ticket)
  local state = string.byte(ticket)
  return state == MATCHED or state == LEFT
end

local function match_of(ticket)
  return string.sub(ticket, 10, 25)
end

-- When a ticket's id was made, which it begins with.
local function made(id)
  return tonumber(string.sub(id, 1, 12), 16) or 0
end

-- Whether a ticket that is not there can no longer be created, as it may have been there and have ended.
local function comes_too_late(id, now)
  return now - made(id) > TICKET_RETENTION_MS
end

-- The last moment of a ticket that ends now: it is kept as long as it could be created again, also by the clock of
-- whoever made its id.
local function kept_until(id, now)
  return math.max(now, made(id)) + TICKET_RETENTION_MS
end

-- A ticket without a wish, as it begins.
local function begun(state, now)
  return string.char(state) .. struct.pack('>I8', now) .. NO_MATCH
end

-- The same ticket in another state, and with another match if one is named.
local function moved(ticket, state, match)
  return string.char(state) .. string.sub(ticket, 2, 9) .. (match or match_of(ticket)) .. string.sub(ticket, 26)
end

-- What a stored ticket is by now, and its last moment. One whose lease has passed is expired, whether anybody has
-- noticed or not; one that ended too long ago is none, and so is what has no header.
local function as_of(now, ticket, last)
  last = tonumber(last)
  if not ticket or #ticket < HEADER_BYTES or not last then
    return false
  elseif now > last then
    return waits(ticket) and moved(ticket, EXPIRED), last
  end
  return ticket, last
end

local function read(id, now)
  local ticket = redis.call('HGET', TICKETS, id)
  return as_of(now, ticket, ticket and redis.call('ZSCORE', UNTIL, id))
end

-- Stores a ticket that has changed.
local function change(id, ticket, last)
  redis.call('HSET', TICKETS, id, ticket)
  redis.call('ZADD', UNTIL, last, id)
  redis.call('ZADD', CHANGES, redis.call('HINCRBY', POOL, 'changes', 1), id)
  return ticket, last
end

-- What a script answers about a ticket: time, ticket or nil, its last moment, the match that it is owed or nil, the
-- usual wait or nil.
local function seen(now, ticket, last)
  fence(FENCE)
  if not ticket then
    return { now, false }
  end
  local owed = is_matched(ticket) and redis.call('HGET', OWED, match_of(ticket))
  return { now, ticket, last, owed, redis.call('HGET', POOL, 'wait') }
end
