-- Adds an entry to a shard's feed, a stream. Its id is the shard's time and a number that the clock counts: one
-- more with every entry, so that whoever reads sees by the numbers whether something is missing. What is older
-- than FEED_RETENTION_MS goes with it; what is too much goes every FEED_TRIM_EVERY entries.
local function append(feed, clock, now, record)
  local entries = redis.call('HINCRBY', clock, 'feed', 1)
  local function add(ms)
    return redis.pcall('XADD', feed, 'MINID', math.max(ms - FEED_RETENTION_MS, 0), ms .. '-' .. entries, 'e', record)
  end
  local added = add(now)
  if type(added) == 'table' and added.err then
    -- The stream is ahead of the clock, which somebody took away or put back: what is stored comes first.
    local info = redis.call('XINFO', 'STREAM', feed)
    for at = 1, #info, 2 do
      if info[at] == 'last-generated-id' then
        add(tonumber(string.match(info[at + 1], '^%d+')) + 1)
      end
    end
  end
  if entries % FEED_TRIM_EVERY == 0 then
    redis.call('XTRIM', feed, 'MAXLEN', FEED_ENTRIES_MAX)
  end
end
