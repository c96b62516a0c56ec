-- Says that a node is there or goes, and who is there. Whoever has been silent for too long is forgotten, and so is
-- whoever is ahead of this clock: it was another one's, before a failover.
-- Keys: nodes. Arguments: node, whether it is there (1 or 0), the longest silence (ms).
-- Reply: the nodes.
local now = time_ms()
if ARGV[2] == '1' then
  redis.call('ZADD', KEYS[1], now, ARGV[1])
else
  redis.call('ZREM', KEYS[1], ARGV[1])
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. (now - ARGV[3]))
redis.call('ZREMRANGEBYSCORE', KEYS[1], '(' .. now, '+inf')
return { redis.call('ZRANGE', KEYS[1], 0, -1) }
