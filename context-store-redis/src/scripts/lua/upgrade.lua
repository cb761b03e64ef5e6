-- Replaces a hash of an older layout by one under a new key with other values. KEYS: the old key,
-- the new one. ARGV: the number of its fields, then field, old value and new value of each field
-- that changes. Returns 1 if the hash was as expected.
if redis.call('HLEN', KEYS[1]) ~= tonumber(ARGV[1]) then return 0 end
for i = 2, #ARGV, 3 do
    if redis.call('HGET', KEYS[1], ARGV[i]) ~= ARGV[i + 1] then return 0 end
end
if redis.call('EXISTS', KEYS[2]) == 1 then return 0 end
for i = 2, #ARGV, 3 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 2]) end
redis.call('RENAME', KEYS[1], KEYS[2])
return 1
