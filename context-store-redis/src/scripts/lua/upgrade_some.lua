-- Moves some fields of a hash of an older layout to the new one, with other values. KEYS: the old
-- key, the new one. ARGV: field, old value and new value of each. A field that was moved or changed
-- meanwhile is not overwritten.
for i = 1, #ARGV, 3 do
    if redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[i + 1] then
        redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 2])
        redis.call('HDEL', KEYS[1], ARGV[i])
    end
end
return 1
