-- Takes all matches off a player's lists.
-- Keys: live list, finished list, when its entries leave, fence. Arguments: channel.
-- Reply: what is still to be told on the channel.
redis.call('DEL', KEYS[1], KEYS[2], KEYS[3])
fence(KEYS[4])
return { tell(ARGV[1], '') }
