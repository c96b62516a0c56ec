-- A page of a player's live and of his finished matches, in order.
-- Keys: live list, finished list, when its entries leave, fence.
-- Arguments: the place and the match after which it begins (empty: at the start), at most how many of each,
--   whether live ones are wanted, whether finished ones are (1 or 0).
-- Reply: live matches and their places, by turns; finished ones likewise.
local place, last, limit, now = ARGV[1], ARGV[2], tonumber(ARGV[3]), time_ms()

local function page(list, wanted)
  local entries, first = {}, 0
  if wanted ~= '1' or limit == 0 then
    return entries
  elseif place ~= '' then
    first = redis.call('ZCOUNT', list, '-inf', '(' .. place)
  end
  while #entries < 2 * limit do
    local read = redis.call('ZRANGE', list, first, first + limit, 'WITHSCORES')
    if #read == 0 then
      break
    end
    for at = 1, #read, 2 do
      local seen = place ~= '' and tonumber(read[at + 1]) == tonumber(place) and read[at] <= last
      local leaves = redis.call('ZSCORE', KEYS[3], read[at])
      local gone = list == KEYS[2] and leaves and tonumber(leaves) < now
      if #entries < 2 * limit and not seen and not gone then
        entries[#entries + 1] = read[at]
        entries[#entries + 1] = read[at + 1]
      end
    end
    first = first + limit + 1
  end
  return entries
end

local live, finished = page(KEYS[1], ARGV[4]), page(KEYS[2], ARGV[5])
fence(KEYS[4])
return { live, finished }
