-- Commits to a round. ARGV: expected revision, next revision, key of the commit, time to live, name
-- of the round, its number, its head, number of parts of new edges, the parts, then the operations
-- in order: 'n', node, record, messages; 'c', node, record of a change; 'x', node. Returns {0} if
-- the commit contradicts the stored round, {1} if it was written, {2} if it had been written
-- before, {3, revision} for a conflict. All reads precede the first write.
local EDGES = 4096
local key, name, ttl = KEYS[3], ARGV[5], tonumber(ARGV[4])
local seen = redis.call('HMGET', key, 'a', 'k')
local revision, count, chunks = '0', 0, 0
if seen[1] then revision, count, chunks = string.match(seen[1], '^(%d+) (%d+) (%d+)$') end
if seen[1] and revision == ARGV[2] and seen[2] == ARGV[3] then return {2} end
if revision ~= ARGV[1] then return {3, revision} end
count, chunks = tonumber(count), tonumber(chunks)

-- The nodes of the operations: whether they existed, their new state, and their changes.
local touched, order, removed = {}, {}, {}
local function node(no)
    if not touched[no] then
        touched[no] = {old = redis.call('HEXISTS', key, 'n' .. no) == 1, changes = {}}
        order[#order + 1] = no
    end
    return touched[no]
end
local function is_there(no)
    local it = node(no)
    return not removed[no] and (it.record or it.old)
end
local parts = tonumber(ARGV[8])
local at = 9 + parts
while at <= #ARGV do
    local what, no = ARGV[at], ARGV[at + 1]
    local it = node(no)
    if what == 'n' then
        if is_there(no) then return {0} end
        it.record, it.messages = ARGV[at + 2], ARGV[at + 3]
        at = at + 4
    elseif not is_there(no) then
        return {0}
    elseif what == 'c' then
        it.changes[#it.changes + 1] = ARGV[at + 2]
        at = at + 3
    else
        it.record, it.changes, removed[no] = nil, {}, true
        at = at + 2
    end
end

-- The chunks of edges to change: the last one, or all of them if nodes are removed.
local edges = {}
local first = chunks
if next(removed) then first = 0 elseif parts > 0 then first = math.max(0, chunks - 1) end
for i = first, chunks - 1 do
    edges[i] = redis.call('HGET', key, 'e' .. i)
    if not edges[i] then return {0} end
end
for i = 9, 8 + parts do
    if chunks > 0 and #edges[chunks - 1] + #ARGV[i] <= EDGES then
        edges[chunks - 1] = edges[chunks - 1] .. ARGV[i]
    else
        edges[chunks] = ARGV[i]
        chunks = chunks + 1
    end
end
local function without(chunk)
    local kept, from = {}, 1
    while from <= #chunk do
        local start, round, to, length, name_at = struct.unpack('<I4I4I4I2', chunk, from)
        -- The checksum follows the name.
        local last = name_at + length + 3
        local gone = removed[tostring(start)] or (tostring(round) == ARGV[6] and removed[tostring(to)])
        if not gone then kept[#kept + 1] = string.sub(chunk, from, last) end
        from = last + 1
    end
    return table.concat(kept)
end

local sets, dels, linked = {}, {}, {}
local function set(field, value)
    sets[#sets + 1] = field
    sets[#sets + 1] = value
end
for i, chunk in pairs(edges) do
    set('e' .. i, next(removed) and without(chunk) or chunk)
end
for _, no in ipairs(order) do
    local it = touched[no]
    local changes = it.old and tonumber(redis.call('HGET', key, 'v' .. no) or 0) or 0
    if it.old and removed[no] then
        count = count - 1
        dels[#dels + 1] = 'n' .. no
        dels[#dels + 1] = 'v' .. no
        for i = 0, changes - 1 do dels[#dels + 1] = 'v' .. no .. ':' .. i end
        changes = 0
    end
    if it.record then
        count = count + 1
        set('n' .. no, it.record)
        local node_name = string.format('%08x', tonumber(no))
        for from = 1, #it.messages, MESSAGE do
            local message = string.sub(it.messages, from, from + MESSAGE - 1)
            linked[#linked + 1] = 0
            linked[#linked + 1] = 'r' .. name .. node_name .. message
            linked[#linked + 1] = 0
            linked[#linked + 1] = 'm' .. message .. name .. node_name
        end
    end
    for i, change in ipairs(it.changes) do set('v' .. no .. ':' .. (changes + i - 1), change) end
    if #it.changes > 0 then set('v' .. no, changes + #it.changes) end
end

-- The first write is one that a full server rejects, so that nothing has changed then.
local counts = string.format('%s %.0f %.0f', ARGV[2], count, chunks)
redis.call('HSET', key, 'a', counts, 'k', ARGV[3], 'h', ARGV[7])
each('HDEL', key, dels)
each('HSET', key, sets)
for no in pairs(removed) do
    if touched[no].old then unlink(name .. string.format('%08x', tonumber(no))) end
end
-- The indexes live as long as the round with the longest time to live.
local function index(key, entries)
    local before = redis.call('PTTL', key)
    each('ZADD', key, entries)
    if ttl == 0 then
        if before >= 0 then redis.call('PERSIST', key) end
    elseif before == -2 or (before >= 0 and before < ttl) then
        redis.call('PEXPIRE', key, ARGV[4])
    end
end
index(list, {0, name})
index(links, linked)
if ttl > 0 then redis.call('PEXPIRE', key, ARGV[4]) end
return {1}
