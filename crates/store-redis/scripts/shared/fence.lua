-- Where a slot has no clock: a write behind what was read, if WAIT is to cover it.
local function fence(key)
  if ALWAYS_WRITES then
    redis.call('SET', key, '', 'PX', FENCE_MS)
  end
end
