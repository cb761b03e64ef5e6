-- What is known of scopes. KEYS: of each its counts and its index. ARGV: how many kinds are wanted,
-- 0 for all, these, then terms. Answers of each scope how many records and words it has, and of
-- each kind its name, its number, whether it is wanted, and the heads of its lists by those terms:
-- of one that is not wanted, as much as says how long they are.
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
