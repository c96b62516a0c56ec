-- Marks tickets that wait as matched, all or none, and notes that their match is to be made.
-- Keys: those of the pool. Arguments: match, what is to be made, number of tickets, tickets.
-- Reply: the tickets that do not wait any more; if there are none, they are claimed, or else, 1, there is no place
--   for another match that is to be made.
local match, now, claimed, gone, again = ARGV[1], time_ms(), {}, {}, false
for at = 4, 3 + tonumber(ARGV[3]) do
  local ticket = read(ARGV[at], now)
  if ticket and match_of(ticket) == match and (waits(ticket) or is_matched(ticket)) then
    -- It was claimed for this match, and so all were: nothing is to be done, whatever became of them since.
    again = true
  elseif ticket and waits(ticket) then
    claimed[ARGV[at]] = ticket
  else
    gone[#gone + 1] = ARGV[at]
  end
end
fence(FENCE)
if again then
  return { {} }
elseif #gone > 0 then
  return { gone }
elseif redis.call('ZCARD', OWING) >= OWING_MAX then
  return { gone, 1 }
end

local usual = tonumber(redis.call('HGET', POOL, 'wait'))
for at = 4, 3 + tonumber(ARGV[3]) do
  local id = ARGV[at]
  local ticket = claimed[id]
  -- One that is named twice is claimed once.
  claimed[id] = nil
  if ticket then
    local wait = math.max(now - struct.unpack('>I8', ticket, 2), 0)
    usual = usual and usual + math.floor((wait - usual) / 8) or wait
    change(id, moved(ticket, MATCHED, match), kept_until(id, now))
  end
end
redis.call('HSET', POOL, 'wait', usual)
redis.call('HSET', OWED, match, ARGV[2])
redis.call('ZADD', OWING, now, match)
return { gone }
