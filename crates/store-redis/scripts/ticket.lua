-- Reads a ticket, and renews its lease.
-- Keys: those of the pool. Arguments: ticket, whether its lease is renewed if it waits (1 or 0).
-- Reply: as of every ticket.
local id, now = ARGV[1], time_ms()
local ticket, last = read(id, now)
if ARGV[2] == '1' and ticket and waits(ticket) then
  last = now + LEASE_MS
  redis.call('ZADD', UNTIL, last, id)
end
return seen(now, ticket, last)
