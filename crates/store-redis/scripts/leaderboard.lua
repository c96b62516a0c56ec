-- Lines of a leaderboard, the best first.
-- Keys: leaderboard, fence. Arguments: index of the first and of the last, from 0.
-- Reply: how many are better than the first of them, players and their places by turns.
local lines = redis.call('ZRANGE', KEYS[1], ARGV[1], ARGV[2], 'WITHSCORES')
local better = lines[2] and redis.call('ZCOUNT', KEYS[1], '-inf', '(' .. lines[2]) or 0
fence(KEYS[2])
return { better, lines }
