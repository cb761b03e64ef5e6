-- Functions of the layout of runs. KEYS[1] is the hash of the chat.
local key = KEYS[1]
local BLOCK, RUN_BYTES, ARGS = 64, 262144, 4000

-- Returns the first message of the block that holds this one.
local function block_of(pos, block)
    return math.floor((pos - 1) / block) * block + 1
end

local function number(n)
    return string.format('%.0f', n)
end

-- Runs a command with a list of any length, in parts that fit the stack. Parts have even lengths,
-- so that pairs are not split.
local function each(command, list)
    for from = 1, #list, ARGS do
        redis.call(command, key, unpack(list, from, math.min(from + ARGS - 1, #list)))
    end
end

-- Calls a function with position, run and length of each run that holds messages of a piece from
-- the block of `from` to `last`. Returns false if one is missing.
local function each_run(no, from, last, use)
    local prefix, pos = 'n' .. no .. ':', block_of(from, BLOCK)
    while pos <= last do
        local stop = math.min(last, block_of(pos, BLOCK) + BLOCK - 1)
        local at, runs = pos, {redis.call('HGET', key, prefix .. pos)}
        while pos <= stop do
            local run = runs[pos - at + 1]
            local count = run and string.byte(run) or 0
            if count == 0 then return false end
            use(pos, run, count)
            pos = pos + count
            if #runs == 1 and pos <= stop then
                -- A block that is not full, or one of large messages.
                local names = {}
                for i = pos, stop do names[#names + 1] = prefix .. i end
                at, runs = pos, redis.call('HMGET', key, unpack(names))
            end
        end
    end
    return true
end

-- Merges the runs of a block of a piece, as far as a merged run is not too large.
local function merge(no, first)
    local names, sets, dels = {}, {}, {}
    for i = 1, BLOCK do names[i] = 'n' .. no .. ':' .. (first + i - 1) end
    local runs = redis.call('HMGET', key, unpack(names))
    local field, parts, count, bytes = nil, {}, 0, 0
    local function close()
        if #parts > 2 then
            parts[1] = string.char(count)
            sets[#sets + 1] = field
            sets[#sets + 1] = table.concat(parts)
        end
    end
    local pos = 1
    while pos <= BLOCK do
        local run = runs[pos]
        if not run then return end
        if not field or bytes + #run > RUN_BYTES then
            close()
            field, parts, count, bytes = names[pos], {''}, 0, 0
        else
            dels[#dels + 1] = names[pos]
        end
        parts[#parts + 1] = string.sub(run, 2)
        count = count + string.byte(run)
        bytes = bytes + #run
        pos = pos + string.byte(run)
    end
    close()
    each('HSET', sets)
    each('HDEL', dels)
end

-- Merges the block that a piece has filled by growing from `before` to `after` messages. A block
-- that is written at once is already one run.
local function merge_after(no, before, after)
    local first = block_of(before + 1, BLOCK)
    if after >= first + BLOCK - 1 and before >= first then merge(no, first) end
end
