-- Creates a chat. KEYS: the chat, the mark of a removed list entry. ARGV: number, time to live,
-- then fields. Returns 0 if the chat exists, 1 if it was created, 2 if its entry was removed
-- meanwhile and the creation must start again with a new number.
local there = redis.call('HGET', KEYS[1], 'o')
if there then
    if string.match(there, '^%x+ (%d+)') == ARGV[1] then return 1 end
    return 0
end
local swept = redis.call('GET', KEYS[2])
if swept and tonumber(swept) >= tonumber(ARGV[1]) then return 2 end
redis.call('HSET', KEYS[1], unpack(ARGV, 3))
if ARGV[2] ~= '0' then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 1
