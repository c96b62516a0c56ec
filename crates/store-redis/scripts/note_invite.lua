-- Puts an invite into the list of a player's open invites, or takes it off.
-- Keys: list, fence.
-- Arguments: invite, its creation (ms) or empty to take it off, how long the list is kept at least (ms),
--   channel.
-- Reply: what is still to be told on the channel.
if ARGV[2] == '' then
  redis.call('ZREM', KEYS[1], ARGV[1])
else
  redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
  redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -1 - LISTED_INVITES_MAX)
  if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[3]) then
    redis.call('PEXPIRE', KEYS[1], ARGV[3])
  end
end
fence(KEYS[2])
return { tell(ARGV[4], '') }
