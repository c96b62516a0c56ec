-- Which keys the store belongs to: those that it was first opened with.
-- Keys: meta. Arguments: the id of the keys. Reply: the id of the store's keys.
redis.call('HSETNX', KEYS[1], 'keys', ARGV[1])
return { redis.call('HGET', KEYS[1], 'keys') }
