-- Lets a ticket wait again if it is still matched with this match, which was aborted.
-- Keys: those of the pool. Arguments: ticket, match.
-- Reply: as of every ticket.
local id, now = ARGV[1], time_ms()
local ticket, last = read(id, now)
if ticket and string.byte(ticket) == MATCHED and match_of(ticket) == ARGV[2] then
  ticket, last = change(id, moved(ticket, WAITS_AGAIN), now + LEASE_MS)
end
return seen(now, ticket, last)
