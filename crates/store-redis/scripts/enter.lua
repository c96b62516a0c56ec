-- Remembers what a player's request creates, or finds it. If it is new, something holds him now, unless something
-- does already. It is what `remember`, `reserve` and `record` do.
-- Keys: request, reservation, record, fence. Arguments: what the request creates, how long it is remembered (ms),
--   what is to hold him, channel.
-- Reply: what is remembered, what holds him or nil, his record behind its version or nil, what is still to be told
--   on the channel.
local remembered = redis.call('SET', KEYS[1], ARGV[1], 'NX', 'GET', 'PX', ARGV[2])
local held = redis.call('GET', KEYS[2])
local by, told = held and string.sub(held, 9), false
if not remembered and not held then
  by = ARGV[3]
  redis.call('SET', KEYS[2], struct.pack('>I8', time_ms()) .. by)
  told = tell(ARGV[4], '')
end
fence(KEYS[4])
return { remembered or ARGV[1], by, redis.call('GET', KEYS[3]), told }
