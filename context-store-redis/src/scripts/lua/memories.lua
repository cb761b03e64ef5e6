-- Functions for scripts on memories. KEYS: the last place of a user, their scopes, then for each
-- scope its records, vectors, index, counters and marks.
local last_place, scopes, FIRST, EACH = KEYS[1], KEYS[2], 3, 5
local PLACES, ROW = 1024, 6

-- Returns the state of a scope by its number from 0, with its pending changes.
local of_scopes = {}
local function of_scope(n)
    if not of_scopes[n] then
        local at = FIRST + EACH * n
        of_scopes[n] = {
            records = KEYS[at], vectors = KEYS[at + 1], index = KEYS[at + 2], counts = KEYS[at + 3], marks = KEYS[at + 4],
            filed = {}, added = {},
        }
    end
    return of_scopes[n]
end

-- Returns the offset in bytes of the row that begins with a number, or the offset where it would
-- be, and whether the row exists.
local function seek(rows, width, form, number)
    if #rows == 0 or struct.unpack(form, rows, #rows - width + 1) < number then return #rows, false end
    local from, to = 0, #rows / width - 1
    while from < to do
        local middle = math.floor((from + to) / 2)
        if struct.unpack(form, rows, middle * width + 1) < number then from = middle + 1 else to = middle end
    end
    return from * width, struct.unpack(form, rows, from * width + 1) == number
end

-- Returns the rows with the row of this number replaced, added or removed.
local function with(rows, width, form, number, row)
    local at, had = seek(rows, width, form, number)
    local rest = string.sub(rows, at + 1 + (had and width or 0))
    return string.sub(rows, 1, at) .. (row or '') .. rest, (row and 1 or 0) - (had and 1 or 0)
end

-- Writes a list of the index. Each change is a pair of a place and its note, or false to remove it.
local function write_list(index, name, changes)
    local head, count, blocks, inline = redis.call('HGET', index, 'h' .. name), 0, '', nil
    local function field(block) return 'p' .. struct.pack('>I4', block) .. name end
    if head then
        count = struct.unpack('>I4', head, 2)
        if string.sub(head, 1, 1) == 'i' then
            blocks, inline = string.sub(head, 6, 9), string.sub(head, 10)
        else
            blocks = string.sub(head, 6)
        end
    end
    local before, touched = blocks, {}
    for _, change in ipairs(changes) do
        local block, offset = math.floor(change[1] / PLACES), change[1] % PLACES
        local rows, more = touched[block], 0
        if not rows then
            local _, is_there = seek(before, 4, '>I4', block)
            rows = is_there and (inline or redis.call('HGET', index, field(block))) or ''
        end
        local row = change[2] and struct.pack('>I2', offset) .. change[2] or nil
        touched[block], more = with(rows, ROW, '>I2', offset, row)
        count = count + more
    end
    for block, rows in pairs(touched) do
        blocks = with(blocks, 4, '>I4', block, rows ~= '' and struct.pack('>I4', block) or nil)
    end
    local sets, dels = {}, {}
    if #blocks == 0 then
        dels[1] = 'h' .. name
    elseif #blocks == 4 and (inline or not head) then
        local rows = touched[struct.unpack('>I4', blocks)] or inline
        sets = {'h' .. name, 'i' .. struct.pack('>I4', count) .. blocks .. rows}
    else
        sets = {'h' .. name, 'l' .. struct.pack('>I4', count) .. blocks}
        if inline then
            local block = struct.unpack('>I4', before)
            touched[block] = touched[block] or inline
        end
        for block, rows in pairs(touched) do
            if rows ~= '' then
                sets[#sets + 1] = field(block)
                sets[#sets + 1] = rows
            end
        end
    end
    if head and not inline then
        for block, rows in pairs(touched) do
            if rows == '' then dels[#dels + 1] = field(block) end
        end
    end
    for from = 1, #sets, 1000 do redis.call('HSET', index, unpack(sets, from, math.min(from + 999, #sets))) end
    for from = 1, #dels, 1000 do redis.call('HDEL', index, unpack(dels, from, math.min(from + 999, #dels))) end
end

-- Records the addition or removal of a record in all of its lists and counters, which
-- `memories/names.rs` describes.
local function file(scope, place, about, comes)
    local kind, words, bytes, _, vector, _, at = struct.unpack('>I4I4I4c16BI2c0', about)
    local function count(field, by) scope.added[field] = (scope.added[field] or 0) + (comes and by or -by) end
    count('r', 1)
    count('w', words)
    count('y', bytes)
    count('v', vector)
    count('c' .. kind, 1)
    local name, value = string.sub(about, 1, 4), nil
    while at <= #about do
        local term
        term, value, at = struct.unpack('>I2c0c4', about, at)
        local list = scope.filed[name .. term] or {}
        scope.filed[name .. term] = list
        list[#list + 1] = {place, comes and value}
    end
end

-- Removes a record and all of its list entries.
local function remove(scope, place, marked)
    local about = redis.call('HGET', scope.records, 'e' .. place)
    local _, _, _, mark, _, id = struct.unpack('>I4I4I4c16BI2c0', about)
    file(scope, tonumber(place), about, false)
    redis.call('HDEL', scope.records, 'i' .. id, 'b' .. place, 'e' .. place)
    redis.call('HDEL', scope.vectors, place)
    if marked then redis.call('SADD', scope.marks, mark) end
end

-- Writes the pending changes of a scope. A scope without records has no counters. Without marks as
-- well, it is removed.
local function finish(scope, name)
    for list, changes in pairs(scope.filed) do write_list(scope.index, list, changes) end
    for field, by in pairs(scope.added) do
        if by ~= 0 then
            local now = redis.call('HINCRBY', scope.counts, field, string.format('%.0f', by))
            if now == 0 and string.sub(field, 1, 1) == 'c' then redis.call('HDEL', scope.counts, field) end
        end
    end
    if tonumber(redis.call('HGET', scope.counts, 'r') or 0) > 0 then return end
    redis.call('UNLINK', scope.counts)
    if redis.call('EXISTS', scope.marks) == 0 then redis.call('ZREM', scopes, name) end
end
