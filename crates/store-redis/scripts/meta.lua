-- Reads what a store is made of, and writes it at the first start.
-- Keys: meta. Arguments: schema, number of shards. Reply: schema, number of shards.
redis.call('HSETNX', KEYS[1], 'schema', ARGV[1])
redis.call('HSETNX', KEYS[1], 'shards', ARGV[2])
return redis.call('HMGET', KEYS[1], 'schema', 'shards')
