-- Remembers what a request created, or finds it.
-- Keys: request, fence. Arguments: record, how long it is remembered (ms). Reply: what is remembered.
local kept = redis.call('SET', KEYS[1], ARGV[1], 'NX', 'GET', 'PX', ARGV[2])
fence(KEYS[2])
return { kept or ARGV[1] }
