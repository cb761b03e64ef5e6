-- Deletes a chat, unless it was written to after a time. ARGV: the time or ''. Returns how many
-- messages the chat had, or -1 if it was not deleted.
local counts = redis.call('HGET', KEYS[1], 'a')
if not counts then return -1 end
local messages, updated = string.match(text_of('a', counts) or '', '^(%d+) %d+ (%d+)$')
-- The time of the last write to a damaged chat is unknown.
if ARGV[1] ~= '' and (not updated or updated > ARGV[1]) then return -1 end
redis.call('UNLINK', KEYS[1])
return tonumber(messages or 0)
