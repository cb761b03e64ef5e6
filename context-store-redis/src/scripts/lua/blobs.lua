-- Functions for scripts on the blobs of one user, which are in one slot. KEYS: the list of the
-- user's chats, the bytes, the references, their order.
local list, kept, refs, order = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local PIECE, ARGS = 262144, 4000

-- Whether the chat has an entry, either with its own number or that of a later attempt to create
-- it.
local function is_there(chat, number)
    local entry = redis.call('ZSCORE', list, chat)
    return entry and tonumber(entry) >= tonumber(number)
end

local function pieces_of(size)
    return math.ceil(tonumber(size) / PIECE)
end

-- Returns the text of a reference, or '' if it disagrees with its checksum.
local function said_by(member)
    local field = 'r' .. member
    local ref = redis.call('HGET', refs, field)
    return ref and (text_of(field, ref) or '')
end

-- Returns the metadata of a blob that a chat refers to.
local function known(holder, id)
    local ref = said_by(holder .. ':' .. id)
    if not ref then return nil end
    return {id, redis.call('HGET', kept, 's' .. id) or '', redis.call('HGET', refs, 'c' .. id) or '', ref}
end

-- Writes the text of a reference.
local function note(holder, id, text)
    local field = 'r' .. holder .. ':' .. id
    redis.call('HSET', refs, field, summed(field, text))
end

-- Records a use, and the media type if it was not known. A damaged reference is not changed.
local function use(holder, id, ref, at, media_type)
    if ref == '' then return end
    local created, used, before = string.match(ref, '^(%d+) (%d+) (.*)$')
    if at > used then used = at end
    if before == '' then before = media_type end
    note(holder, id, created .. ' ' .. used .. ' ' .. before)
end

-- Removes a reference, and the bytes with the last one. Returns whether the bytes were removed, and
-- how many there were.
local function drop(holder, id)
    redis.call('HDEL', refs, 'r' .. holder .. ':' .. id)
    redis.call('ZREM', order, holder .. ':' .. id)
    if redis.call('HINCRBY', refs, 'c' .. id, -1) > 0 then return 0, 0 end
    redis.call('HDEL', refs, 'c' .. id)
    local size = redis.call('HGET', kept, 's' .. id) or '0'
    local gone = {'s' .. id}
    for n = 0, pieces_of(size) - 1 do gone[#gone + 1] = n .. ':' .. id end
    for from = 1, #gone, ARGS do
        redis.call('HDEL', kept, unpack(gone, from, math.min(from + ARGS - 1, #gone)))
    end
    return 1, tonumber(size)
end

-- Removes references whose names lie between two bounds, except for those used after a time, if one
-- is given, and those of the holder `but`. Returns the numbers of removed references, blobs and
-- bytes.
local function drop_all(from, to, since, but)
    local count, blobs, bytes = 0, 0, 0
    for _, member in ipairs(redis.call('ZRANGEBYLEX', order, from, to)) do
        local holder, id = string.match(member, '^(.*):(%x+)$')
        local ref = said_by(member)
        -- The time of use of a damaged reference is unknown.
        local used = ref and (string.match(ref, '^%d+ (%d+)') or 'never')
        if holder ~= but and (since == '' or not used or used <= since) then
            local gone, size = drop(holder, id)
            count, blobs, bytes = count + 1, blobs + gone, bytes + size
        end
    end
    return {count, blobs, bytes}
end
