-- Applies a change of one stream that was decided on, if what it was decided on still holds. ARGV:
-- time to live, stream, how many of its chunks go, how many fields must be as they were, those with
-- '=' and the value, or '' if they were not there; how many fields go, those; then fields to set.
-- Answers 0: no such chat, 1: applied, 2: others were first.
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
