-- Takes a player off a leaderboard.
-- Keys: leaderboard, after how many matches each line is, fence. Arguments: player. Reply: nothing.
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[2], ARGV[1])
fence(KEYS[3])
return { }
