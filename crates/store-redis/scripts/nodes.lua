-- Says that a node is there or goes, and who is there. Whoever has been silent for too long is forgotten, and so is
-- whoever is ahead of this clock: it was another one's, before a failover. What he told last is kept for longer.
-- Keys: nodes, what they told, those that are asked to drain. Arguments: node, whether it is there (1 or 0), the
--   longest silence (ms), how long the dead are told of (ms), how many of them at most, what it tells.
-- Reply: the nodes; 1 if it is asked to drain.
local now = time_ms()
if ARGV[2] == '1' then
  redis.call('ZADD', KEYS[1], now, ARGV[1])
  redis.call('HSET', KEYS[2], ARGV[1], string.format('%d ', now) .. ARGV[6])
else
  redis.call('ZREM', KEYS[1], ARGV[1])
  redis.call('HDEL', KEYS[2], ARGV[1])
  redis.call('HDEL', KEYS[3], ARGV[1])
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. (now - ARGV[3]))
redis.call('ZREMRANGEBYSCORE', KEYS[1], '(' .. now, '+inf')
local there = redis.call('ZRANGE', KEYS[1], 0, -1)
-- Only where some are dead is there anything to forget.
if redis.call('HLEN', KEYS[2]) > #there then
  local alive, dead = {}, {}
  for _, node in ipairs(there) do
    alive[node] = true
  end
  local told = redis.call('HGETALL', KEYS[2])
  for at = 1, #told, 2 do
    local heard = tonumber(string.match(told[at + 1], '^%d+')) or 0
    if not alive[told[at]] then
      dead[#dead + 1] = { node = told[at], heard = heard <= now and heard or 0 }
    end
  end
  table.sort(dead, function(one, other) return one.heard > other.heard end)
  for at, line in ipairs(dead) do
    if at > tonumber(ARGV[5]) or line.heard < now - ARGV[4] then
      redis.call('HDEL', KEYS[2], line.node)
      redis.call('HDEL', KEYS[3], line.node)
    end
  end
end
redis.call('PEXPIRE', KEYS[2], ARGV[4])
redis.call('PEXPIRE', KEYS[3], ARGV[4])
return { there, redis.call('HEXISTS', KEYS[3], ARGV[1]) }
