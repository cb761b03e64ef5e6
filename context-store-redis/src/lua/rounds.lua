-- What scripts of rounds need. KEYS: which rounds a user has, which messages their nodes stand for,
-- then rounds.
local list, links = KEYS[1], KEYS[2]
local MESSAGE, ARGS = 32, 4000

-- One command for a list of any length, in parts that fit the stack. Even, so that pairs stay
-- together.
local function each(command, key, args)
    for from = 1, #args, ARGS do
        redis.call(command, key, unpack(args, from, math.min(from + ARGS - 1, #args)))
    end
end

-- Takes the links whose entries begin so.
local function unlink(start)
    local gone = {}
    for _, entry in ipairs(redis.call('ZRANGEBYLEX', links, '[r' .. start, '(r' .. start .. '\255')) do
        gone[#gone + 1] = entry
        gone[#gone + 1] = 'm' .. string.sub(entry, -MESSAGE) .. string.sub(entry, 2, -MESSAGE - 1)
    end
    each('ZREM', links, gone)
end
