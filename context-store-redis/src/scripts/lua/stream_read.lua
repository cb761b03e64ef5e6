-- Reads a stream and its chunks from an offset on. ARGV: stream, offset, maximum chunks, maximum
-- bytes, which a single chunk may exceed. Returns {0} if the chat does not exist, {1} if the stream
-- does not exist, {2} if a chunk is missing, otherwise {3, counters, metadata, chunks}.
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
