-- Stores a new ticket that waits, or finds the one that is there.
-- Keys: those of the pool. Arguments: ticket, wish.
-- Reply: as of every ticket; of none that there is no place for: time, nil, 1.
local id, now = ARGV[1], time_ms()
local ticket, last = read(id, now)
if not ticket and not comes_too_late(id, now) then
  if redis.call('HLEN', TICKETS) >= POOL_MAX then
    fence(FENCE)
    return { now, false, 1 }
  end
  ticket, last = change(id, begun(WAITS, now) .. ARGV[2], now + LEASE_MS)
end
return seen(now, ticket, last)
