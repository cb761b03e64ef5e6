-- Reads the window of a chain. ARGV: field of the branch or message at which the chain ends,
-- window, its number or message, generation. Returns {0} if the chat does not exist, {1} if the end
-- does not exist, {2} if something is missing, otherwise {3, generation, skipped, then for each run
-- the number of messages to leave out, the number to take, and the run}.
local found = redis.call('HMGET', key, 'o', ARGV[1])
if not found[1] then return {0} end
if not found[2] then return {1} end
local no, cut = string.match(found[2], '^(%d+) (%d+)')
local window, wanted = ARGV[2], tonumber(ARGV[3])
local at_no, at_pos
if window == 'after' then
    window = 'all'
    if ARGV[4] == found[1] then
        local at = redis.call('HGET', key, 'i' .. ARGV[3])
        if at then
            at_no, at_pos = string.match(at, '^(%d+) (%d+)$')
            at_pos = tonumber(at_pos)
        end
    end
end

-- Walks from the newest piece to the root, or to the start of the window.
local pieces, start, skipped = {}, nil, 0
while true do
    local piece = redis.call('HGET', key, 'p' .. no)
    if not piece then return {2} end
    local base, parent, parent_pos = string.match(piece, '^(%d+) (%d+) (%d+)$')
    base, cut = tonumber(base), tonumber(cut)
    local from
    if window == 'last' then
        start = start or math.max(0, base + cut - wanted)
        if start >= base then from = start - base + 1 end
    elseif window == 'boundary' then
        for pos in string.gmatch(redis.call('HGET', key, 'y' .. no) or '', '%d+') do
            if tonumber(pos) <= cut then from = tonumber(pos) end
        end
    elseif no == at_no and at_pos <= cut then
        from = at_pos + 1
    end
    pieces[#pieces + 1] = {no, from or 1, cut}
    if from then
        skipped = base + from - 1
        break
    end
    if parent == '0' then break end
    no, cut = parent, parent_pos
end

local out = {3, found[1], skipped}
for i = #pieces, 1, -1 do
    local piece, from, last = pieces[i][1], pieces[i][2], pieces[i][3]
    local all = from > last or each_run(piece, from, last, function(pos, run, count)
        if pos + count > from then
            local leave = math.max(0, from - pos)
            local n = #out
            out[n + 1] = leave
            out[n + 2] = math.min(count, last - pos + 1) - leave
            out[n + 3] = run
        end
    end)
    if not all then return {2} end
end
return out
