-- Removes the links of a user who has no rounds.
if redis.call('EXISTS', list) == 0 then redis.call('UNLINK', links) end
return 1
