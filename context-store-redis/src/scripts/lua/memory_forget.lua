-- Removes records of one scope and leaves a mark of each. ARGV: name of the scope, then 'i' and
-- ids, or 't', a limit and the term of the records. Returns how many were removed.
local scope, places = of_scope(0), {}
if ARGV[2] == 'i' then
    local seen = {}
    for i = 3, #ARGV do
        local known = redis.call('HGET', scope.records, 'i' .. ARGV[i])
        local place = known and string.match(known, '^%d+')
        if place and not seen[place] then
            seen[place] = true
            places[#places + 1] = place
        end
    end
else
    local most = tonumber(ARGV[3])
    local kinds = redis.call('HKEYS', scope.counts)
    for _, field in ipairs(kinds) do
        local kind = string.match(field, '^c(%d+)$')
        local name = kind and struct.pack('>I4', tonumber(kind)) .. ARGV[4]
        local head = name and redis.call('HGET', scope.index, 'h' .. name)
        if head then
            local is_inline = string.sub(head, 1, 1) == 'i'
            for at = 6, is_inline and 6 or #head, 4 do
                if #places >= most then break end
                local block = struct.unpack('>I4', head, at)
                local rows = is_inline and string.sub(head, 10)
                    or redis.call('HGET', scope.index, 'p' .. struct.pack('>I4', block) .. name) or ''
                for row = 1, #rows, ROW do
                    if #places >= most then break end
                    places[#places + 1] = string.format('%.0f', block * PLACES + struct.unpack('>I2', rows, row))
                end
            end
        end
    end
end
for _, place in ipairs(places) do remove(scope, place, true) end
if #places > 0 then finish(scope, ARGV[1]) end
return #places
