-- Appends new messages to a branch. ARGV: branch, head that the writer saw or '', time, time to
-- live, 1 if the branch may have moved on from there or 0, then id and packed node of each message.
-- Returns 0 if the chat does not exist, 1 if the messages were written, the head that they follow if
-- it has moved on, 2 if the general path must decide.
local FIRST = 6
local nodes = (#ARGV - FIRST + 1) / 2
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
if math.floor(after / SMALL) > math.floor(own / SMALL) then merge_after(no, own, after) end
if ARGV[4] ~= '0' then redis.call('PEXPIRE', key, ARGV[4]) end
return moved and head or 1
