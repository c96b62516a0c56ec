-- Puts a match into a player's list, or marks it finished there. A match is in one of the two lists; a
-- finished one stays finished, and leaves the list when the match itself is forgotten.
-- Keys: live list, finished list, when its entries leave, fence.
-- Arguments: match, its place (minus its creation, ms: newest first), whether it is finished (1 or 0), how
--   long it is kept then (ms), channel.
-- Reply: what is still to be told on the channel.
local match, place, kept_ms = ARGV[1], ARGV[2], tonumber(ARGV[4])
local now = time_ms()
if ARGV[3] == '1' then
  redis.call('ZREM', KEYS[1], match)
  redis.call('ZADD', KEYS[2], place, match)
  redis.call('ZADD', KEYS[3], 'NX', now + kept_ms, match)
  for _, gone in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now, 'LIMIT', 0, FORGOTTEN_MAX)) do
    redis.call('ZREM', KEYS[2], gone)
    redis.call('ZREM', KEYS[3], gone)
  end
  redis.call('PEXPIRE', KEYS[2], kept_ms)
  redis.call('PEXPIRE', KEYS[3], kept_ms)
elseif not redis.call('ZSCORE', KEYS[2], match) then
  redis.call('ZADD', KEYS[1], place, match)
end
fence(KEYS[4])
return { tell(ARGV[5], '') }
