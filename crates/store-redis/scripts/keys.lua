-- Which keys the store belongs to: those that it was first opened with.
-- Keys: meta. Arguments: the id of the keys. Reply: the id of the store's keys; or nil where the store is one
--   that takes over another one, and does not have all of it yet.
if redis.call('HEXISTS', KEYS[1], 'importing') == 1 then
  return { false }
end
redis.call('HSETNX', KEYS[1], 'keys', ARGV[1])
return { redis.call('HGET', KEYS[1], 'keys') }
