-- A match that was claimed is made: nobody need make it any more.
-- Keys: those of the pool. Arguments: match. Reply: nothing.
redis.call('HDEL', OWED, ARGV[1])
redis.call('ZREM', OWING, ARGV[1])
fence(FENCE)
return { }
