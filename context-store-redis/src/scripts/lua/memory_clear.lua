-- Removes the last place of a user who has no scopes.
if redis.call('EXISTS', scopes) == 0 then redis.call('UNLINK', last_place) end
return 1
