-- Deletes a chat, unless it was written to after a time. ARGV: the time or ''. Answers how many messages it had; -1 if
-- it was not deleted.
local counts = redis.call('HGET', KEYS[1], 'a')
if not counts then return -1 end
local messages, updated = string.match(counts, '^(%d+) %d+ (%d+)$')
if ARGV[1] ~= '' and updated > ARGV[1] then return -1 end
redis.call('UNLINK', KEYS[1])
return tonumber(messages)
