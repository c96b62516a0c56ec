-- How many lines of a leaderboard come before a player's.
-- Keys: leaderboard, fence. Arguments: player. Reply: how many, or nil if he is not on it.
local place = redis.call('ZRANK', KEYS[1], ARGV[1])
fence(KEYS[2])
return { place }
