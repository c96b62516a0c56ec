-- Tells whoever listens on a channel. What is written is as durable as it gets here.
local function tell(channel, message)
  redis.call(PUBLISH, channel, message)
  return false
end
