-- Adds a reference to bytes, and stores the bytes if they are not stored yet. ARGV: chat, its
-- number, holder, id, time, type or '', size, pieces. Without pieces, the call only asks whether
-- they are needed. Returns {0} if the chat does not exist, {1} if the pieces are needed, otherwise
-- {2, metadata}.
local holder, id, at, media_type, length, FIRST = ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7], 8
if not is_there(ARGV[1], ARGV[2]) then return {0} end
local size = redis.call('HGET', kept, 's' .. id)
if not size then
    if #ARGV - FIRST + 1 < pieces_of(length) then return {1} end
    local sets = {'s' .. id, length}
    for i = FIRST, #ARGV do
        sets[#sets + 1] = (i - FIRST) .. ':' .. id
        sets[#sets + 1] = ARGV[i]
    end
    redis.call('HSET', kept, unpack(sets))
end
local ref = said_by(holder .. ':' .. id)
if ref then
    use(holder, id, ref, at, media_type)
else
    note(holder, id, at .. ' ' .. at .. ' ' .. media_type)
    redis.call('ZADD', order, 0, holder .. ':' .. id)
    redis.call('HINCRBY', refs, 'c' .. id, 1)
end
return {2, known(holder, id)}
