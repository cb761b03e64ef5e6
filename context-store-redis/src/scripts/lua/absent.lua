-- Checks that a chat does not exist, and leaves a mark so that no concurrent creation brings it
-- back without a list entry. KEYS: the chat, the mark. ARGV: the number of the chat's entry, the
-- lifetime of the mark in milliseconds. Returns 1 if the chat does not exist.
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
local swept = redis.call('GET', KEYS[2])
if not swept or tonumber(swept) < tonumber(ARGV[1]) then
    redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
end
return 1
