-- What has changed in a pool. Expires tickets whose lease has passed, and forgets those that ended too long ago.
-- Keys: those of the pool. Arguments: the number of the change after which it begins (0: at the beginning), the
--   history that it was counted in.
-- Reply: time, this history, the number after which the next page begins, whether there is more, whether the page is
--   the first one instead; tickets, each its id, the ticket and its last moment by turns; owed matches.
local after, now = tonumber(ARGV[1]), time_ms()
-- A server that takes over counts on from what it has of the changes: the same number may be of another one. But it
-- draws another id for its history.
local history = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x%x%x%x%x%x)')
local changes = tonumber(redis.call('HGET', POOL, 'changes')) or 0
local restarted = after > 0 and (after > changes or history ~= ARGV[2])
if restarted then
  after = 0
end

for _, id in ipairs(redis.call('ZRANGEBYSCORE', UNTIL, '-inf', '(' .. now, 'LIMIT', 0, SWEPT_MAX)) do
  local expired = read(id, now)
  if expired then
    change(id, expired, kept_until(id, now))
  else
    redis.call('HDEL', TICKETS, id)
    redis.call('ZREM', CHANGES, id)
    redis.call('ZREM', UNTIL, id)
  end
end

local ids = redis.call('ZRANGEBYSCORE', CHANGES, '(' .. after, '+inf', 'LIMIT', 0, TICKETS_MAX + 1)
local more, last, page = #ids > TICKETS_MAX, after, {}
if more then
  ids[#ids] = nil
end
if #ids > 0 then
  last = redis.call('ZSCORE', CHANGES, ids[#ids])
  local tickets, lasts = redis.call('HMGET', TICKETS, unpack(ids)), redis.call('ZMSCORE', UNTIL, unpack(ids))
  for at, id in ipairs(ids) do
    local ticket = as_of(now, tickets[at], lasts[at])
    if ticket then
      page[#page + 1] = id
      page[#page + 1] = ticket
      page[#page + 1] = lasts[at]
    end
  end
end

local owed = {}
for _, match in ipairs(redis.call('ZRANGEBYSCORE', OWING, '-inf', now - OWED_AFTER_MS, 'LIMIT', 0, OWED_MAX)) do
  owed[#owed + 1] = redis.call('HGET', OWED, match) or nil
end
fence(FENCE)
return { now, history, last, more and 1 or 0, restarted and 1 or 0, page, owed }
