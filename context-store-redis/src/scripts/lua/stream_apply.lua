-- Applies a change of one stream that was decided after a read, if its preconditions still hold.
-- ARGV: time to live, stream, number of chunks to delete, number of fields with a required value,
-- those with '=' and the value, or '' if they must be absent; number of fields to delete, those;
-- then fields to set. Returns 0 if the chat does not exist, 1 if the change was applied, 2 if
-- another write was first.
if redis.call('EXISTS', key) == 0 then return 0 end
local at = 5
for _ = 1, tonumber(ARGV[4]) do
    local is = redis.call('HGET', key, ARGV[at])
    if (is and '=' .. is or '') ~= ARGV[at + 1] then return 2 end
    at = at + 2
end
local dels = {}
for n = 0, tonumber(ARGV[3]) - 1 do dels[n + 1] = 'c' .. number(n) .. ':' .. ARGV[2] end
for i = at + 1, at + tonumber(ARGV[at]) do dels[#dels + 1] = ARGV[i] end
local sets = at + tonumber(ARGV[at]) + 1
if sets <= #ARGV then redis.call('HSET', key, unpack(ARGV, sets)) end
for from = 1, #dels, ARGS do
    redis.call('HDEL', key, unpack(dels, from, math.min(from + ARGS - 1, #dels)))
end
if ARGV[1] ~= '0' then redis.call('PEXPIRE', key, ARGV[1]) end
return 1
