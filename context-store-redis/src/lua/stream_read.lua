-- A stream and its chunks from an offset on. ARGV: stream, offset, how many, how many bytes at
-- most, one chunk excepted. Answers {0}: no such chat, {1}: no such stream, {2}: a chunk is
-- missing, or {3, counts, the rest, the chunks}.
local id, offset, limit, most = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local found = redis.call('HMGET', key, 'v', 't' .. id, 'u' .. id)
if not found[1] then return {0} end
if not found[2] or not found[3] then return {1} end
local there = tonumber(string.match(found[2], '^%x+ (%d+)'))
local chunks, bytes = {}, 0
for n = offset, math.min(there, offset + limit) - 1 do
    local chunk = redis.call('HGET', key, 'c' .. number(n) .. ':' .. id)
    if not chunk then return {2} end
    bytes = bytes + #chunk - 4
    if bytes > most and #chunks > 0 then break end
    chunks[#chunks + 1] = chunk
end
return {3, found[2], found[3], chunks}
