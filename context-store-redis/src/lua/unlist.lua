-- Takes a chat from the list of a user, if its entry is still the one that was seen, and its
-- references to blobs with it. ARGV: chat, number, what holders of that name begin with. Answers
-- how many blobs went.
if redis.call('ZSCORE', list, ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('ZREM', list, ARGV[1])
return drop_all('[' .. ARGV[3] .. '.', '(' .. ARGV[3] .. '/', '')[2]
