-- Removes references that deleted chats of a name have left. ARGV: the common prefix of their
-- holders, the holder that still exists.
return drop_all('[' .. ARGV[1] .. '.', '(' .. ARGV[1] .. '/', '', ARGV[2])[1]
