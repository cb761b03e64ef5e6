-- Returns a text with a checksum in front that covers the name of the field.
local function summed(field, text)
    return string.sub(redis.sha1hex(field .. ' ' .. text), 1, 8) .. ' ' .. text
end

-- Returns the text of a field, or nil if it disagrees with its checksum.
local function text_of(field, value)
    local text = string.sub(value, 10)
    if summed(field, text) == value then return text end
end
