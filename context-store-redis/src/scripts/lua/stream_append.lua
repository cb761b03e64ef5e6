-- Appends chunks to a running stream. ARGV: stream, writer, offset, time, time to live, maximum
-- chunks and bytes of a stream, chunks. Returns {0} if the chat does not exist, {1} if the stream
-- does not exist, {2} if the general path must decide, otherwise {3, counters, metadata}.
local id, FIRST = ARGV[1], 8
local found = redis.call('HMGET', key, 'v', 't' .. id, 'u' .. id)
if not found[1] then return {0} end
if not found[2] then return {1} end
local counts = text_of('t' .. id, found[2])
if not counts then return {2} end
local chunks, bytes, updated, writer = string.match(counts, '^(%d+) (%d+) (%d+) (.*)$')
if writer ~= ARGV[2] or chunks ~= ARGV[3] then return {2} end
local sets = {}
for i = FIRST, #ARGV do
    sets[#sets + 1] = 'c' .. number(chunks + i - FIRST) .. ':' .. id
    sets[#sets + 1] = ARGV[i]
    -- Without the checksum.
    bytes = bytes + #ARGV[i] - 4
end
chunks = chunks + #ARGV - FIRST + 1
if chunks > tonumber(ARGV[6]) or tonumber(bytes) > tonumber(ARGV[7]) then return {2} end
if ARGV[4] > updated then updated = ARGV[4] end
counts = summed('t' .. id, number(chunks) .. ' ' .. number(bytes) .. ' ' .. updated .. ' ' .. writer)
sets[#sets + 1] = 't' .. id
sets[#sets + 1] = counts
redis.call('HSET', key, unpack(sets))
if ARGV[5] ~= '0' then redis.call('PEXPIRE', key, ARGV[5]) end
return {3, counts, found[3]}
