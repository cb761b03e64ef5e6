-- Appends new messages to a branch. ARGV: branch, expected head or '', time, time to live, then id
-- and packed node of each message. Returns 0 if the chat does not exist, 1 if the messages were
-- written, 2 if the general path must decide.
local FIRST = 5
local nodes = (#ARGV - FIRST + 1) / 2
local found = redis.call('HMGET', key, 'a', 'b' .. ARGV[1], 'i' .. ARGV[FIRST], 'l')
if not found[1] then return 0 end
local counts = text_of('a', found[1])
if not counts or not found[2] or found[3] then return 2 end
local lease = found[4] and text_of('l', found[4])
if found[4] and (not lease or ARGV[3] < string.sub(lease, 1, 20)) then return 2 end
local no, own, head = string.match(found[2], '^(%d+) (%d+) (.*)$')
if head ~= ARGV[2] then return 2 end
for i = 1, nodes - 1 do
    if redis.call('HEXISTS', key, 'i' .. ARGV[FIRST + 2 * i]) == 1 then return 2 end
end

own = tonumber(own)
local after = own + nodes
local messages, bytes, updated = string.match(counts, '^(%d+) (%d+) (%d+)$')
if ARGV[3] > updated then updated = ARGV[3] end
local sets = {}
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
    local node = ARGV[FIRST + 1 + 2 * i]
    if count > 0 and (size + #node > RUN_BYTES or (own + i) % BLOCK == 0) then close() end
    count = count + 1
    parts[count] = node
    size = size + #node
    added = added + #node
    set('i' .. ARGV[FIRST + 2 * i], no .. ' ' .. (own + 1 + i))
end
close()
set('b' .. ARGV[1], no .. ' ' .. after .. ' ' .. ARGV[#ARGV - 1])
set('a', summed('a', string.format('%.0f %.0f %s', messages + nodes, bytes + added, updated)))
each('HSET', sets)
if math.floor(after / SMALL) > math.floor(own / SMALL) then merge_after(no, own, after) end
if ARGV[4] ~= '0' then redis.call('PEXPIRE', key, ARGV[4]) end
return 1
