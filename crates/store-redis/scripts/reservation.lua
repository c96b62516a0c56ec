-- Reads what holds a player.
-- Keys: reservation, fence. Reply: what holds him or nil, for how long (ms).
local now, kept = time_ms(), redis.call('GET', KEYS[1])
fence(KEYS[2])
if not kept then
  return { false, 0 }
end
return { string.sub(kept, 9), math.max(now - struct.unpack('>I8', kept), 0) }
