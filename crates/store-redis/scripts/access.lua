-- Reads what is kept of a player's access.
-- Keys: those of the list. Arguments: player. Reply: what is kept or nil.
local kept = read(ARGV[1])
fence(FENCE)
return { kept }
