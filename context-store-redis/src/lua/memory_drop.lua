-- Drops scopes whole, with their marks. ARGV: their names. Answers how many records there were.
-- What is known of a user without a scope goes as well, but for the last place, which no other
-- record may get.
local gone = 0
for n, name in ipairs(ARGV) do
    local scope = of_scope(n - 1)
    gone = gone + tonumber(redis.call('HGET', scope.counts, 'r') or 0)
    redis.call('UNLINK', scope.records, scope.vectors, scope.index, scope.counts, scope.marks)
    redis.call('ZREM', scopes, name)
end
return gone
