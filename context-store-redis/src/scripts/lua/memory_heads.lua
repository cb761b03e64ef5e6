-- Reads the counters and list heads of scopes. KEYS: for each scope its counters and its index.
-- ARGV: number of requested kinds or 0 for all, the kinds, then terms. Returns for each scope its
-- numbers of records and words, and for each kind its name, its number, whether it was requested,
-- and the heads of its lists by the terms. Of a kind that was not requested, a head is cut after
-- the length of its list.
local wanted, kinds = {}, tonumber(ARGV[1])
for i = 2, 1 + kinds do wanted[ARGV[i]] = true end
local answers = {}
for i = 1, #KEYS, 2 do
    local counts, fields = {}, redis.call('HGETALL', KEYS[i])
    for f = 1, #fields, 2 do counts[fields[f]] = fields[f + 1] end
    local groups = {}
    for field, number in pairs(counts) do
        if string.sub(field, 1, 1) == 'k' and counts['c' .. number] then
            local kind, names = string.sub(field, 2), {}
            for t = 2 + kinds, #ARGV do names[#names + 1] = 'h' .. struct.pack('>I4', tonumber(number)) .. ARGV[t] end
            local is_wanted = kinds == 0 or wanted[kind]
            local heads = #names > 0 and redis.call('HMGET', KEYS[i + 1], unpack(names)) or {}
            if not is_wanted then
                for h, head in ipairs(heads) do heads[h] = head and string.sub(head, 1, 5) end
            end
            groups[#groups + 1] = kind
            groups[#groups + 1] = tonumber(number)
            groups[#groups + 1] = is_wanted and 1 or 0
            groups[#groups + 1] = heads
        end
    end
    answers[#answers + 1] = {tonumber(counts['r'] or 0), tonumber(counts['w'] or 0), groups}
end
return answers
