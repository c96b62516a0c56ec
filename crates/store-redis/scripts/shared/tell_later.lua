-- Hands back what is to be told on the channel: the caller tells it once the write has reached enough
-- replicas.
local function tell(_, message)
  return message
end
