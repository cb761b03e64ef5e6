-- Functions for scripts on rounds. KEYS: the index of a user's rounds, the index of links from
-- nodes to messages, then rounds.
local list, links = KEYS[1], KEYS[2]
local MESSAGE, ARGS = 32, 4000

-- Runs a command with a list of any length, in parts that fit the stack. Parts have even lengths,
-- so that pairs are not split.
local function each(command, key, args)
    for from = 1, #args, ARGS do
        redis.call(command, key, unpack(args, from, math.min(from + ARGS - 1, #args)))
    end
end

-- Removes the links whose entries begin with a prefix.
local function unlink(start)
    local gone = {}
    for _, entry in ipairs(redis.call('ZRANGEBYLEX', links, '[r' .. start, '(r' .. start .. '\255')) do
        gone[#gone + 1] = entry
        gone[#gone + 1] = 'm' .. string.sub(entry, -MESSAGE) .. string.sub(entry, 2, -MESSAGE - 1)
    end
    each('ZREM', links, gone)
end
