-- Puts what is kept of a player's access in the place of something else, if that is there.
-- Keys: those of the list. Arguments: player, what is to be there (empty: nothing), what is to be put there, the last
--   moment at which it is kept (ms; 0: for good).
-- Reply: what is there then or nil; or, 1 behind it, there is no place for another player.
local kept = read(ARGV[1])
fence(FENCE)
if (kept or '') ~= ARGV[2] or kept == ARGV[3] then
  return { kept }
elseif redis.call('HEXISTS', PLAYERS, ARGV[1]) == 0 and redis.call('HLEN', PLAYERS) >= RESTRICTED_MAX then
  return { kept, 1 }
end
redis.call('HSET', PLAYERS, ARGV[1], ARGV[3])
redis.call('ZADD', CHANGES, redis.call('INCR', COUNT), ARGV[1])
if ARGV[4] == '0' then
  redis.call('ZREM', UNTIL, ARGV[1])
else
  redis.call('ZADD', UNTIL, ARGV[4], ARGV[1])
end
return { ARGV[3] }
