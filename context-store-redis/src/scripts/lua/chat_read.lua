-- Reads the small state of a chat and the requested fields, at one moment. Only the names of
-- branches are used from the shape, which precedes its checksum, and none of its numbers.
local key = KEYS[1]
local head = redis.call('HMGET', key, 'v', 'a', 'o', 'm', 's', 'x')
if not head[1] then return {} end
local tips = {}
for _, piece in ipairs(cjson.decode(string.sub(head[5], 1, -5)).pieces) do
    if type(piece.name) == 'string' then
        tips[#tips + 1] = redis.call('HGET', key, 'b' .. piece.name)
    end
end
local asked = {}
for i = 1, #ARGV do asked[i] = redis.call('HGET', key, ARGV[i]) end
return {head[1], head[2], head[3], head[4], head[5], head[6], tips, asked}
