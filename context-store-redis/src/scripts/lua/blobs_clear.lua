-- Removes all blobs of a user who has no chats.
if redis.call('EXISTS', list) == 1 then return 0 end
return redis.call('UNLINK', kept, refs, order)
