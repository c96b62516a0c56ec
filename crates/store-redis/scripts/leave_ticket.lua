-- Takes a player out of a ticket for good. One that is not there is stored as cancelled for as long as it can still
-- be created.
-- Keys: those of the pool. Arguments: ticket.
-- Reply: as of every ticket.
local id, now = ARGV[1], time_ms()
local ticket, last = read(id, now)
if not ticket then
  ticket, last = begun(CANCELLED, now), kept_until(id, now)
  if not comes_too_late(id, now) then
    change(id, ticket, last)
  end
elseif waits(ticket) then
  ticket, last = change(id, moved(ticket, CANCELLED), kept_until(id, now))
elseif string.byte(ticket) == MATCHED then
  ticket, last = change(id, moved(ticket, LEFT), last)
end
return seen(now, ticket, last)
