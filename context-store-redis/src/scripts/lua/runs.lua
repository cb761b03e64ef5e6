-- Functions of the layout of runs. KEYS[1] is the hash of the chat.
local key = KEYS[1]
local BLOCK, SMALL, RUN_BYTES, ARGS = 64, 16, 262144, 4000

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

-- Merges the runs from `first` to `last`, as long as a merged run is not too large.
local function merge(no, first, last)
    local sets, dels = {}, {}
    local fields, parts, count, bytes = {}, {}, 0, 0
    local function close()
        if #fields > 1 then
            sets[#sets + 1] = fields[1]
            sets[#sets + 1] = string.char(count) .. table.concat(parts)
            for i = 2, #fields do dels[#dels + 1] = fields[i] end
        end
        fields, parts, count, bytes = {}, {}, 0, 0
    end
    local from, names = block_of(first, BLOCK), {}
    for pos = from, last do names[#names + 1] = 'n' .. no .. ':' .. pos end
    local runs, pos = redis.call('HMGET', key, unpack(names)), from
    while pos <= last do
        local field, run = names[pos - from + 1], runs[pos - from + 1]
        if not run then return end
        if pos >= first then
            if bytes + #run > RUN_BYTES then close() end
            fields[#fields + 1] = field
            parts[#parts + 1] = string.sub(run, 2)
            count = count + string.byte(run)
            bytes = bytes + #run
        end
        pos = pos + string.byte(run)
    end
    close()
    each('HSET', sets)
    each('HDEL', dels)
end

-- Merges the block that a piece has filled by growing from `before` to `after` messages.
local function merge_after(no, before, after)
    for _, block in ipairs({BLOCK, SMALL}) do
        local first = block_of(before + 1, block)
        if after >= first + block - 1 then
            -- A block that is written at once is already one run.
            if before >= first then merge(no, first, first + block - 1) end
            return
        end
    end
end
