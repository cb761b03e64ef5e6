-- Removes references. ARGV: chat or '' for all, its number, holder, blob id or '' for all, latest
-- time of use or '' for any. Returns {0} if the chat does not exist, otherwise {1, references,
-- blobs, bytes}.
local chat, holder, id, since = ARGV[1], ARGV[3], ARGV[4], ARGV[5]
if chat ~= '' and not is_there(chat, ARGV[2]) then return {0} end
local gone = {0, 0, 0}
if chat == '' then
    gone = drop_all('-', '+', since)
elseif id == '' then
    gone = drop_all('[' .. holder .. ':', '(' .. holder .. ';', since)
elseif redis.call('HEXISTS', refs, 'r' .. holder .. ':' .. id) == 1 then
    local blobs, bytes = drop(holder, id)
    gone = {1, blobs, bytes}
end
return {1, gone[1], gone[2], gone[3]}
