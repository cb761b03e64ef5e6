-- Drops rounds. ARGV: of each its name, and the revision it must be of, or '*' for any. Answers of
-- each 0: it is of another one, 1: it is gone, 2: it was not there. Of what is not there, the
-- entries go.
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
