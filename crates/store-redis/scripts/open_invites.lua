-- A part of the list of a player's open invites, newest first. It may hold some that are closed.
-- Keys: list, fence. Arguments: index of the first and of the last, from 0.
-- Reply: invites.
local listed = redis.call('ZREVRANGE', KEYS[1], ARGV[1], ARGV[2])
fence(KEYS[2])
return { listed }
