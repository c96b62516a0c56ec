-- Ends taking over another store: from now on it may be served, with these keys.
-- Keys: meta. Arguments: the id of the keys. Reply: nothing.
redis.call('HSET', KEYS[1], 'keys', ARGV[1])
redis.call('HDEL', KEYS[1], 'importing')
return { }
