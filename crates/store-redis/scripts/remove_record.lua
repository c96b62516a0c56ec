-- Removes a player's record.
-- Keys: record, fence. Reply: nothing.
redis.call('DEL', KEYS[1])
fence(KEYS[2])
return { }
