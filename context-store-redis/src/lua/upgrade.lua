-- Puts a hash of an older layout in the place of the new one, with other values. KEYS: the old key,
-- the new one. ARGV: how many fields it has, then field, value as it was, value as it is to be, of
-- each that changes. Answers 1 if it was so.
if redis.call('HLEN', KEYS[1]) ~= tonumber(ARGV[1]) then return 0 end
for i = 2, #ARGV, 3 do
    if redis.call('HGET', KEYS[1], ARGV[i]) ~= ARGV[i + 1] then return 0 end
end
if redis.call('EXISTS', KEYS[2]) == 1 then return 0 end
for i = 2, #ARGV, 3 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 2]) end
redis.call('RENAME', KEYS[1], KEYS[2])
return 1
