-- Begins to take over another store, or goes on with it, if nobody has served this one.
-- Keys: meta. Reply: 1 if it may begin, else 0.
if redis.call('HEXISTS', KEYS[1], 'keys') == 1 then
  return { 0 }
end
redis.call('HSET', KEYS[1], 'importing', 1)
return { 1 }
