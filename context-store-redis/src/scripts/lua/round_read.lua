-- Reads a round at one moment. ARGV: its name. Returns whether it is listed, its fields, and the
-- links of its nodes.
local is_listed = redis.call('ZSCORE', list, ARGV[1]) and 1 or 0
local linked = redis.call('ZRANGEBYLEX', links, '[r' .. ARGV[1], '(r' .. ARGV[1] .. '\255')
return {is_listed, redis.call('HGETALL', KEYS[3]), linked}
