-- Puts a player on a leaderboard, unless he is there after more matches.
-- Keys: leaderboard, after how many matches each line is, fence.
-- Arguments: player, his place (minus his points), matches.
-- Reply: whether there is no place for him (1 or 0).
local known = tonumber(redis.call('HGET', KEYS[2], ARGV[1]))
fence(KEYS[3])
if not known and redis.call('HLEN', KEYS[2]) >= RANKED_MAX then
  return { 1 }
elseif not known or known <= tonumber(ARGV[3]) then
  redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
  redis.call('HSET', KEYS[2], ARGV[1], ARGV[3])
end
return { 0 }
