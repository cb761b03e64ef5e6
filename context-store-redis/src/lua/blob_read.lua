-- What is known of a blob, and a range of its bytes. ARGV: chat, its number, holder, id, time of
-- the use or '', begin and end of the range; end 0 for no bytes. Answers {0}: no such chat, {1}: it
-- does not refer to it, or {2, what is known, the pieces}.
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
