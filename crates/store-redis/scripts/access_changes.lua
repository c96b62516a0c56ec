-- What has changed in the list of players' access. Forgets who has been kept long enough.
-- Keys: those of the list. Arguments: the number of the change after which it begins (0: at the beginning), the
--   history that it was counted in.
-- Reply: time, this history, the number after which the next page begins, whether there is more, whether the page is
--   the first one instead; players and what is kept of each by turns.
local after, now = tonumber(ARGV[1]), time_ms()
-- As of a pool's changes: a server that takes over counts again, and draws another id for its history.
local history = string.match(redis.call('INFO', 'replication'), 'master_replid:(%x%x%x%x%x%x)')
local changes = tonumber(redis.call('GET', COUNT)) or 0
local restarted = after > 0 and (after > changes or history ~= ARGV[2])
if restarted then
  after = 0
end

for _, player in ipairs(redis.call('ZRANGEBYSCORE', UNTIL, '-inf', '(' .. now, 'LIMIT', 0, SWEPT_MAX)) do
  redis.call('HDEL', PLAYERS, player)
  redis.call('ZREM', CHANGES, player)
  redis.call('ZREM', UNTIL, player)
end

local players = redis.call('ZRANGEBYSCORE', CHANGES, '(' .. after, '+inf', 'LIMIT', 0, RESTRICTED_PAGE_MAX + 1)
local more, last, page = #players > RESTRICTED_PAGE_MAX, changes, {}
if more then
  players[#players] = nil
  last = redis.call('ZSCORE', CHANGES, players[#players])
end
if #players > 0 then
  local kept = redis.call('HMGET', PLAYERS, unpack(players))
  for at, player in ipairs(players) do
    page[#page + 1] = player
    page[#page + 1] = kept[at] or ''
  end
end
fence(FENCE)
return { now, history, last, more and 1 or 0, restarted and 1 or 0, page }
