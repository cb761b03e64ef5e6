-- Lists the blobs that a chat refers to, by id. ARGV: chat, its number, holder, the id to start
-- after or '', the limit. Returns {0} if the chat does not exist, otherwise {1, metadata of each
-- blob}.
local holder = ARGV[3]
if not is_there(ARGV[1], ARGV[2]) then return {0} end
local from = ARGV[4] == '' and '[' .. holder .. ':' or '(' .. holder .. ':' .. ARGV[4]
local out = {1}
for _, member in ipairs(redis.call('ZRANGEBYLEX', order, from, '(' .. holder .. ';', 'LIMIT', 0, ARGV[5])) do
    local found = known(holder, string.match(member, ':(%x+)$'))
    if found then out[#out + 1] = found end
end
return out
