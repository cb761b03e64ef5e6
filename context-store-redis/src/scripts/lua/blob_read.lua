-- Reads the metadata of a blob and a range of its bytes. ARGV: chat, its number, holder, id, time
-- of use or '', start and end of the range. An end of 0 reads no bytes. Returns {0} if the chat
-- does not exist, {1} if it does not refer to the blob, otherwise {2, metadata, pieces}.
local holder, id = ARGV[3], ARGV[4]
if not is_there(ARGV[1], ARGV[2]) then return {0} end
local found = known(holder, id)
if not found then return {1} end
if ARGV[5] ~= '' then use(holder, id, found[4], ARGV[5], '') end
local pieces = {}
local from, to = tonumber(ARGV[6]), math.min(tonumber(ARGV[7]), tonumber(found[2]) or 0)
if from < to then
    for n = math.floor(from / PIECE), math.floor((to - 1) / PIECE) do
        pieces[#pieces + 1] = redis.call('HGET', kept, n .. ':' .. id) or ''
    end
end
return {2, found, pieces}
