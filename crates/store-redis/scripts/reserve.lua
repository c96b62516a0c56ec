-- Puts what holds a player in the place of something else, if that is there. It is stored behind the time since when
-- it is there, ms, 8 bytes.
-- Keys: reservation, fence. Arguments: what is to be there (empty: nothing), what is to be put there (empty:
--   nothing), channel.
-- Reply: what is there then or nil, what is still to be told on the channel.
local kept = redis.call('GET', KEYS[1])
local by = kept and string.sub(kept, 9) or ''
local told = false
if by == ARGV[1] and by ~= ARGV[2] then
  by = ARGV[2]
  if by == '' then
    redis.call('DEL', KEYS[1])
  else
    redis.call('SET', KEYS[1], struct.pack('>I8', time_ms()) .. by)
  end
  told = tell(ARGV[3], '')
end
fence(KEYS[2])
return { by ~= '' and by, told }
