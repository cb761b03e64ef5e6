-- The blobs a chat refers to, by name. ARGV: chat, its number, holder, the name they come after or
-- '', how many. Answers {0}: no such chat, or {1, what is known of each}.
local holder = ARGV[3]
if not is_there(ARGV[1], ARGV[2]) then return {0} end
local from = ARGV[4] == '' and '[' .. holder .. ':' or '(' .. holder .. ':' .. ARGV[4]
local out = {1}
for _, member in ipairs(redis.call('ZRANGEBYLEX', order, from, '(' .. holder .. ';', 'LIMIT', 0, ARGV[5])) do
    local found = known(holder, string.match(member, ':(%x+)$'))
    if found then out[#out + 1] = found end
end
return out
