-- Appends one message to a branch, which is the most common append. Arguments and results are those
-- of the script below. This part runs first and defines only what it needs. A message that fills a
-- block, or that is grafted behind those of others, is left to the script below.
local call, args, chat = redis.call, ARGV, KEYS[1]
if #args == 7 then
    local branch, id, node = 'b' .. args[1], args[6], args[7]
    local found = call('HMGET', chat, 'a', branch, 'i' .. id, 'l')
    if not found[1] then return 0 end
    local counts = text_of('a', found[1])
    if not counts or not found[2] or found[3] then return 2 end
    -- The end of the lease comes first, as a text whose order is that of times.
    local lease = found[4] and text_of('l', found[4])
    if found[4] and (not lease or args[3] < string.sub(lease, 1, 20)) then return 2 end
    local no, own, head = string.match(found[2], '^(%d+) (%d+) (.*)$')
    local moved = head ~= args[2]
    if moved and args[5] == '0' then return 2 end
    own = own + 1
    if not moved and own % 16 ~= 0 then
        local messages, bytes, updated = string.match(counts, '^(%d+) (%d+) (%d+)$')
        if args[3] > updated then updated = args[3] end
        local pos = string.format('%d', own)
        local place = no .. ' ' .. pos
        counts = string.format('%.0f %.0f ', messages + 1, bytes + #node) .. updated
        call('HSET', chat, 'a', summed('a', counts), branch, place .. ' ' .. id, 'i' .. id, place,
            'n' .. no .. ':' .. pos, '\1' .. node)
        if args[4] ~= '0' then call('PEXPIRE', chat, args[4]) end
        return 1
    end
end
