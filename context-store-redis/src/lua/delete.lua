-- Deletes a chat, unless it was written to after a time. ARGV: the time or ''. Answers how many
-- messages it had; -1 if it was not deleted.
local counts = redis.call('HGET', KEYS[1], 'a')
if not counts then return -1 end
local messages, updated = string.match(text_of('a', counts) or '', '^(%d+) %d+ (%d+)$')
-- Of a damaged one nobody knows when it was written to.
if ARGV[1] ~= '' and (not updated or updated > ARGV[1]) then return -1 end
redis.call('UNLINK', KEYS[1])
return tonumber(messages or 0)
