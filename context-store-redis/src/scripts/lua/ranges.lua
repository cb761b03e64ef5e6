-- Reads runs by place. ARGV: version, then piece, first and last message of each range. Returns {0}
-- if the chat has changed, {2} if something is missing, otherwise {1, then for each run its piece,
-- its first message, and the run}.
if redis.call('HGET', key, 'v') ~= ARGV[1] then return {0} end
local out = {1}
for i = 2, #ARGV, 3 do
    local no, first, last = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
    local all = each_run(no, first, last, function(pos, run, count)
        if pos + count > first then
            local n = #out
            out[n + 1] = no
            out[n + 2] = pos
            out[n + 3] = run
        end
    end)
    if not all then return {2} end
end
return out
