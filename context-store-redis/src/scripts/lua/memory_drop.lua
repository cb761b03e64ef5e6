-- Removes whole scopes with their marks. ARGV: their names. Returns how many records there were.
-- The last place of the user is kept, because no other record may get it.
local gone = 0
for n, name in ipairs(ARGV) do
    local scope = of_scope(n - 1)
    gone = gone + tonumber(redis.call('HGET', scope.counts, 'r') or 0)
    redis.call('UNLINK', scope.records, scope.vectors, scope.index, scope.counts, scope.marks)
    redis.call('ZREM', scopes, name)
end
return gone
