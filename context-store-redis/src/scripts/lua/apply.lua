-- Applies a change that was decided after a read, if its preconditions still hold. ARGV: version,
-- new version, time to live, messages and bytes to add, time or '', then eight numbers: of fields
-- that must be absent, that must be equal, to delete, of messages that lose their revisions, of
-- pieces to cut, to merge, of fields to copy, of messages to graft. Then those items (messages: the
-- branch, the head that was seen or '', then id and packed node of each), then the fields to set.
-- Returns 0 if the chat does not exist, 1 if the change was applied, the head that grafted messages
-- follow, 2 if another write was first, 3 if something is missing, 4 if the counters are damaged.
-- All reads precede the first write.
local seen = redis.call('HMGET', key, 'v', 'a')
if not seen[1] then return 0 end
if seen[1] == ARGV[2] then return 1 end
if seen[1] ~= ARGV[1] then return 2 end
local counts = text_of('a', seen[2])
if not counts then return 4 end
local at = 14
local function next_args(n)
    local from = at + 1
    at = at + n
    return from, at
end
local from, to = next_args(tonumber(ARGV[7]))
for i = from, to do
    if redis.call('HEXISTS', key, ARGV[i]) == 1 then return 2 end
end
from, to = next_args(2 * tonumber(ARGV[8]))
for i = from, to, 2 do
    if redis.call('HGET', key, ARGV[i]) ~= ARGV[i + 1] then return 2 end
end

local sets, dels = {}, {}
local messages, bytes, updated = string.match(counts, '^(%d+) (%d+) (%d+)$')
messages, bytes = messages + ARGV[4], bytes + ARGV[5]
if ARGV[6] > updated then updated = ARGV[6] end
from, to = next_args(tonumber(ARGV[9]))
for i = from, to do dels[#dels + 1] = ARGV[i] end

local function forget_revisions(id)
    local count = redis.call('HGET', key, 'q' .. id)
    if not count then return end
    for k = 0, tonumber(count) - 1 do
        local field = string.format('r%010d', k) .. id
        bytes = bytes - math.max(0, redis.call('HSTRLEN', key, field) - 12)
        dels[#dels + 1] = field
    end
    dels[#dels + 1] = 'q' .. id
end
from, to = next_args(tonumber(ARGV[10]))
for i = from, to do forget_revisions(ARGV[i]) end

-- Removes the messages of a piece after the first `keep`. A record of a run begins with its
-- checksum, followed by its length. The length of its id is at byte 28, and the id begins after
-- byte 30.
local function cut(no, keep, own)
    local pos = block_of(keep + 1, BLOCK)
    while pos <= own do
        local field = 'n' .. no .. ':' .. pos
        local run = redis.call('HGET', key, field)
        if not run then return false end
        local count, offset = string.byte(run), 2
        for i = 0, count - 1 do
            if pos + i == keep + 1 and i > 0 then
                sets[#sets + 1] = field
                sets[#sets + 1] = string.char(i) .. string.sub(run, 2, offset - 1)
            end
            local length = struct.unpack('<I4', run, offset + 4) + 8
            if pos + i > keep then
                local id = string.sub(run, offset + 30, offset + 29 + struct.unpack('<I2', run, offset + 28))
                dels[#dels + 1] = 'i' .. id
                forget_revisions(id)
                bytes = bytes - length
                messages = messages - 1
            end
            offset = offset + length
        end
        if pos > keep then dels[#dels + 1] = field end
        pos = pos + count
    end
    local left = {}
    for boundary in string.gmatch(redis.call('HGET', key, 'y' .. no) or '', '%d+') do
        if tonumber(boundary) <= keep then left[#left + 1] = boundary end
    end
    if #left > 0 then
        sets[#sets + 1] = 'y' .. no
        sets[#sets + 1] = table.concat(left, ' ')
    else
        dels[#dels + 1] = 'y' .. no
    end
    if keep == 0 then dels[#dels + 1] = 'p' .. no end
    return true
end
from, to = next_args(3 * tonumber(ARGV[11]))
for i = from, to, 3 do
    if not cut(ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])) then return 3 end
end
local merges, merges_to = next_args(3 * tonumber(ARGV[12]))
from, to = next_args(2 * tonumber(ARGV[13]))
for i = from, to, 2 do
    local value = redis.call('HGET', key, ARGV[i])
    if not value then return 3 end
    sets[#sets + 1] = ARGV[i + 1]
    sets[#sets + 1] = value
end
local nodes, onto = tonumber(ARGV[14]), 1
local no, own
if nodes > 0 then
    from, to = next_args(2 + 2 * nodes)
    local found = redis.call('HGET', key, 'b' .. ARGV[from])
    if not found then return 2 end
    no, own, onto = string.match(found, '^(%d+) (%d+) (.*)$')
    if not holds(no, own, ARGV[from + 1]) then return 2 end
    own = tonumber(own)
    bytes = bytes + place(sets, ARGV[from], no, own, from + 2, nodes)
    messages = messages + nodes
end

-- The first write is one that a full server rejects, so that nothing has changed then.
counts = number(messages) .. ' ' .. number(bytes) .. ' ' .. updated
redis.call('HSET', key, 'v', ARGV[2], 'a', summed('a', counts))
for i = at + 1, #ARGV do sets[#sets + 1] = ARGV[i] end
each('HSET', sets)
each('HDEL', dels)
for i = merges, merges_to, 3 do merge_after(ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])) end
if nodes > 0 then merge_after(no, own, own + nodes) end
if ARGV[3] ~= '0' then redis.call('PEXPIRE', key, ARGV[3]) end
return onto
