-- Removes a chat from the list of a user, if its entry still has the number that was read, together
-- with its references to blobs. ARGV: chat, number, prefix of the holders of that name. Returns how
-- many blobs were removed.
if redis.call('ZSCORE', list, ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('ZREM', list, ARGV[1])
return drop_all('[' .. ARGV[3] .. '.', '(' .. ARGV[3] .. '/', '')[2]
