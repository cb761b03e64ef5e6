-- Texts that scripts write, with a checksum in front that takes the name of the field.
local function summed(field, text)
    return string.sub(redis.sha1hex(field .. ' ' .. text), 1, 8) .. ' ' .. text
end

-- The text of a field; nothing if it is not what was written.
local function text_of(field, value)
    local text = string.sub(value, 10)
    if summed(field, text) == value then return text end
end
