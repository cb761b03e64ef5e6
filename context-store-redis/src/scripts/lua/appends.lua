-- Functions that append messages to a branch.

-- Whether a chain that ends with message `last` of a piece has this message. Nothing has been seen
-- on an empty branch, which every chain continues.
local function holds(no, last, seen)
    if seen == '' then return true end
    local at = redis.call('HGET', key, 'i' .. seen)
    if not at then return false end
    local at_no, at_pos = string.match(at, '^(%d+) (%d+)$')
    while no and no ~= '0' do
        if no == at_no then return tonumber(at_pos) <= tonumber(last) end
        no, last = string.match(redis.call('HGET', key, 'p' .. no) or '', '^%d+ (%d+) (%d+)$')
    end
    return false
end

-- Adds the fields of messages that follow the first `own` of a piece to a list, and the end of their
-- branch. Id and packed node of each begin at argument `from`. Returns the size of the nodes.
local function place(sets, branch, no, own, from, nodes)
    local function set(field, value)
        sets[#sets + 1] = field
        sets[#sets + 1] = value
    end
    local added, size, count, parts, first = 0, 0, 0, {}, own + 1
    local function close()
        set('n' .. no .. ':' .. first, string.char(count) .. table.concat(parts))
        first, size, count, parts = first + count, 0, 0, {}
    end
    for i = 0, nodes - 1 do
        local node = ARGV[from + 1 + 2 * i]
        if count > 0 and (size + #node > RUN_BYTES or (own + i) % BLOCK == 0) then close() end
        count = count + 1
        parts[count] = node
        size = size + #node
        added = added + #node
        set('i' .. ARGV[from + 2 * i], no .. ' ' .. (own + 1 + i))
    end
    close()
    set('b' .. branch, no .. ' ' .. (own + nodes) .. ' ' .. ARGV[from + 2 * nodes - 2])
    return added
end
