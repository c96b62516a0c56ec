-- The clock of a shard: a hash of `alive`, when somebody was last there, and `outage`, the sum of all
-- times in which nobody was, ms; and `feed`, how many entries the shard's feed has ever had. Returns the shard's time, which never goes back, and the outage sum.
-- A gap of more than OUTAGE_MIN_MS counts whole, and is added before anything else is judged.
local function shard_time(clock)
  local kept = redis.call('HMGET', clock, 'alive', 'outage')
  local alive, outage, now = tonumber(kept[1]), tonumber(kept[2]) or 0, time_ms()
  if not alive then
    redis.call('HSET', clock, 'alive', now, 'outage', outage)
  elseif now - alive > OUTAGE_MIN_MS then
    outage = outage + now - alive
    redis.call('HSET', clock, 'alive', now, 'outage', outage)
  elseif now > alive then
    redis.call('HSET', clock, 'alive', now)
  else
    now = alive
    -- WAIT covers the writes of its own connection only: what is read is covered by a write after it.
    if ALWAYS_WRITES then
      redis.call('HSET', clock, 'alive', now)
    end
  end
  return now, outage
end
