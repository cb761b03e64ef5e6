-- Appends new messages to a branch. ARGV: branch, head that the writer saw or '', time, time to
-- live, 1 if the branch may have moved on from there or 0, and a number of messages. If that is not
-- 0, the id of each follows, then the run of them, which is their number as a byte and the packed
-- nodes. Otherwise id and packed node of each message follow.
-- Returns 0 if the chat does not exist, 1 if the messages were written, the head that they follow if
-- it has moved on, 2 if the general path must decide.
local FIRST = 7
local nodes = few > 0 and few or (#ARGV - FIRST + 1) / 2
if few > 0 then
    -- A packed node begins with four bytes of checksum and four of the length that follows.
    local ids, run, at = {unpack(ARGV, FIRST, FIRST + few - 1)}, ARGV[FIRST + few], 2
    for i = 1, few do
        local a, b, c, d = string.byte(run, at + 4, at + 7)
        local size = 8 + a + 256 * b + 65536 * c + 16777216 * d
        ARGV[FIRST + 2 * i - 2] = ids[i]
        ARGV[FIRST + 2 * i - 1] = string.sub(run, at, at + size - 1)
        at = at + size
    end
end
local found = redis.call('HMGET', key, 'a', 'b' .. ARGV[1], 'i' .. ARGV[FIRST], 'l')
if not found[1] then return 0 end
local counts = text_of('a', found[1])
if not counts or not found[2] or found[3] then return 2 end
local lease = found[4] and text_of('l', found[4])
if found[4] and (not lease or ARGV[3] < string.sub(lease, 1, 20)) then return 2 end
local no, own, head = string.match(found[2], '^(%d+) (%d+) (.*)$')
local moved = head ~= ARGV[2]
if moved and (ARGV[5] == '0' or not holds(no, own, ARGV[2])) then return 2 end
for i = 1, nodes - 1 do
    if redis.call('HEXISTS', key, 'i' .. ARGV[FIRST + 2 * i]) == 1 then return 2 end
end

own = tonumber(own)
local after = own + nodes
local messages, bytes, updated = string.match(counts, '^(%d+) (%d+) (%d+)$')
if ARGV[3] > updated then updated = ARGV[3] end
local sets = {}
local added = place(sets, ARGV[1], no, own, FIRST, nodes)
sets[#sets + 1] = 'a'
sets[#sets + 1] = summed('a', string.format('%.0f %.0f %s', messages + nodes, bytes + added, updated))
each('HSET', sets)
merge_after(no, own, after)
if ARGV[4] ~= '0' then redis.call('PEXPIRE', key, ARGV[4]) end
return moved and head or 1
