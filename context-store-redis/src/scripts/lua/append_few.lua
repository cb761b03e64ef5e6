-- Appends a few messages to a branch, which is the most common append. Arguments and results are
-- those of the script below. This part runs first and defines only what it needs. Messages that
-- fill a block, or that are grafted behind those of others, are left to the script below.
local call, args, chat = redis.call, ARGV, KEYS[1]
local few = tonumber(args[6])
if few > 0 then
    local branch = 'b' .. args[1]
    local found
    if few == 1 then
        found = call('HMGET', chat, 'a', branch, 'l', 'i' .. args[7])
    elseif few == 2 then
        found = call('HMGET', chat, 'a', branch, 'l', 'i' .. args[7], 'i' .. args[8])
    else
        local fields = {'a', branch, 'l'}
        for i = 1, few do fields[3 + i] = 'i' .. args[6 + i] end
        found = call('HMGET', chat, unpack(fields))
    end
    if not found[1] then return 0 end
    local counts = text_of('a', found[1])
    if not counts or not found[2] then return 2 end
    for i = 1, few do
        if found[3 + i] then return 2 end
    end
    -- The end of the lease comes first, as a text whose order is that of times.
    local lease = found[3] and text_of('l', found[3])
    if found[3] and (not lease or args[3] < string.sub(lease, 1, 20)) then return 2 end
    local no, own, head = string.match(found[2], '^(%d+) (%d+) (.*)$')
    local moved = head ~= args[2]
    if moved and args[5] == '0' then return 2 end
    if not moved and own % 64 + few < 64 then
        local messages, bytes, updated = string.match(counts, '^(%d+) (%d+) (%d+)$')
        if args[3] > updated then updated = args[3] end
        local run, last = args[7 + few], args[6 + few]
        local tip = no .. ' ' .. string.format('%d', own + few)
        counts = summed('a', string.format('%.0f %.0f ', messages + few, bytes + #run - 1) .. updated)
        local name = 'n' .. no .. ':' .. string.format('%d', own + 1)
        if few == 1 then
            call('HSET', chat, 'a', counts, branch, tip .. ' ' .. last, name, run, 'i' .. last, tip)
        else
            local sets = {'a', counts, branch, tip .. ' ' .. last, name, run}
            for i = 1, few do
                sets[#sets + 1] = 'i' .. args[6 + i]
                sets[#sets + 1] = no .. ' ' .. string.format('%d', own + i)
            end
            call('HSET', chat, unpack(sets))
        end
        if args[4] ~= '0' then call('PEXPIRE', chat, args[4]) end
        return 1
    end
end
