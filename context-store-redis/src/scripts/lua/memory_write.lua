-- Writes records. ARGV: number of scopes, their names, then for each record: the index of its scope
-- from 0, id, mark, expectation, kind, vector or '', lists and counters, the record. The
-- expectation is '*' for any state, 'a' for absent, or a version. '=' and a version means that this
-- version is known to be equal. Returns {0, index, place, record} for a conflict, otherwise {1,
-- then for each record 'w' or 'k' and the version, or 'f'}. All reads precede the first write.
local EACH_WRITE, first = 8, 2 + tonumber(ARGV[1])
local answers, writes = {1}, {}
for at = first, #ARGV, EACH_WRITE do
    local scope, expected = of_scope(tonumber(ARGV[at])), ARGV[at + 3]
    local place, version = nil, '0'
    local known = redis.call('HGET', scope.records, 'i' .. ARGV[at + 1])
    if known then place, version = string.match(known, '^(%d+) (%d+)$') end
    local answer
    -- The reply to the same write may have been lost.
    local is_again = place and tonumber(expected) and tonumber(expected) + 1 == tonumber(version)
        and redis.call('HGET', scope.records, 'b' .. place) == version .. ' ' .. ARGV[at + 7]
    if is_again or expected == '=' .. version then
        answer = 'w' .. version
    elseif expected == 'a' and place then
        answer = 'k' .. version
    elseif expected == 'a' and redis.call('SISMEMBER', scope.marks, ARGV[at + 2]) == 1 then
        answer = 'f'
    elseif expected == '*' or expected == 'a' or expected == version then
        local next_version = string.format('%.0f', tonumber(version) + 1)
        answer = 'w' .. next_version
        writes[#writes + 1] = {at, scope, place, next_version}
    else
        return {0, (at - first) / EACH_WRITE, place or false, place and redis.call('HGET', scope.records, 'b' .. place) or false}
    end
    answers[#answers + 1] = answer
end
if #writes == 0 then return answers end

-- The first write is one that a full server rejects, so that nothing has changed then.
local last = tonumber(redis.call('GET', last_place) or 0)
for _, write in ipairs(writes) do
    if not write[3] then
        last = last + 1
        write[3] = string.format('%.0f', last)
        write[5] = true
    end
end
redis.call('SET', last_place, string.format('%.0f', last))
for _, write in ipairs(writes) do
    local at, scope, place, version, is_new = unpack(write)
    if not is_new then file(scope, tonumber(place), redis.call('HGET', scope.records, 'e' .. place), false) end
    local name = ARGV[2 + tonumber(ARGV[at])]
    local kind = redis.call('HGET', scope.counts, 'k' .. ARGV[at + 4])
    if not kind then
        kind = redis.call('HINCRBY', scope.counts, 'n', 1)
        redis.call('HSET', scope.counts, 'k' .. ARGV[at + 4], kind, 'scope', name)
        redis.call('ZADD', scopes, 0, name)
    end
    local about = struct.pack('>I4', tonumber(kind)) .. ARGV[at + 6]
    file(scope, tonumber(place), about, true)
    redis.call('HSET', scope.records, 'i' .. ARGV[at + 1], place .. ' ' .. version, 'b' .. place, version .. ' ' .. ARGV[at + 7],
        'e' .. place, about)
    if ARGV[at + 5] ~= '' then
        redis.call('HSET', scope.vectors, place, ARGV[at + 5])
    else
        redis.call('HDEL', scope.vectors, place)
    end
    redis.call('SREM', scope.marks, ARGV[at + 2])
end
for n, scope in pairs(of_scopes) do finish(scope, ARGV[2 + n]) end
return answers
