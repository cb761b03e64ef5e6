-- Definitions for scripts on streams. KEYS[1] is the hash of the chat.
local key = KEYS[1]
local ARGS = 4000

local function number(n)
    return string.format('%.0f', n)
end
