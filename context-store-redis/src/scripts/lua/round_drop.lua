-- Removes rounds. ARGV: for each its name, and the revision it must have, or '*' for any. Returns
-- for each 0 if it has another revision, 1 if it was removed, 2 if it did not exist. The index
-- entries of a round that does not exist are removed.
local answers = {}
for i = 3, #KEYS do
    local name, wanted = ARGV[2 * i - 5], ARGV[2 * i - 4]
    local counts = redis.call('HGET', KEYS[i], 'a')
    if counts and wanted ~= '*' and string.match(counts, '^%d+') ~= wanted then
        answers[#answers + 1] = 0
    else
        answers[#answers + 1] = 2 - redis.call('UNLINK', KEYS[i])
        redis.call('ZREM', list, name)
        unlink(name)
    end
end
return answers
