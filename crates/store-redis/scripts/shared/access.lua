-- Players' access is a hash: a player → what is kept of him, which only nodes read. Beside it: `changes`, the number
-- of each player's last change; `until`, the last moment at which each is kept, ms, but of those who are kept for
-- good; `count`, the number of the last change.
local PLAYERS, CHANGES, UNTIL, COUNT, FENCE = unpack(KEYS)

-- What is kept of a player. What has been kept long enough is not there, whether anybody has noticed or not.
local function read(player)
  local last = tonumber(redis.call('ZSCORE', UNTIL, player))
  return not (last and last < time_ms()) and redis.call('HGET', PLAYERS, player)
end
