-- Takes a chat from the list of a user, if its entry is still the one that was seen. ARGV: chat, number.
if redis.call('ZSCORE', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
return redis.call('ZREM', KEYS[1], ARGV[1])
