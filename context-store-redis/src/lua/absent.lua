-- Sees that a chat is not there, and to it that no creation that is under way brings it back
-- unlisted. KEYS: the chat, the mark. ARGV: the number of its entry, how long the mark stays.
-- Answers 1 if it is not there.
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
local swept = redis.call('GET', KEYS[2])
if not swept or tonumber(swept) < tonumber(ARGV[1]) then
    redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
end
return 1
