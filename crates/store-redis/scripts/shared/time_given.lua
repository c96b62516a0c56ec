-- The time that the caller gives as the last argument, ms since the Unix epoch: for tests that script it.
local function time_ms()
  return tonumber(ARGV[#ARGV])
end
