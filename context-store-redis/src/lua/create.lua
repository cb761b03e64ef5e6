-- Creates a chat. KEYS: the chat, the mark of who swept its entry. ARGV: number, time to live, then
-- fields. Answers 0: it is there, 1: created, 2: its entry was swept meanwhile, so begin again with
-- a new number.
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
