-- Drops what chats of a name have left behind that are gone. ARGV: what their holders begin with,
-- the holder that is there.
return drop_all('[' .. ARGV[1] .. '.', '(' .. ARGV[1] .. '/', '', ARGV[2])[1]
