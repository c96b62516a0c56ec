-- What the nodes told last, and asks one of them to drain.
-- Keys: nodes, what they told, those that are asked to drain. Arguments: the longest silence (ms), how long the dead
--   are told of (ms), the node to ask, or nothing.
-- Reply: time; the nodes that are there; by turns a node and what it told; 1 if the node was asked.
local now = time_ms()
local there = redis.call('ZRANGEBYSCORE', KEYS[1], now - ARGV[1], now)
local asked = 0
for _, node in ipairs(there) do
  if node == ARGV[3] then
    redis.call('HSET', KEYS[3], node, 1)
    redis.call('PEXPIRE', KEYS[3], ARGV[2])
    asked = 1
  end
end
return { now, there, redis.call('HGETALL', KEYS[2]), asked }
