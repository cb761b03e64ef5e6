//! Indentation, for the formats that show depth by it.

/// How many levels are indented, by two spaces each. What is deeper stands as far to the right as
/// the last of them, or the indentation of a deep tree would grow with the square of its depth.
pub(crate) const MAX_INDENTED_LEVELS: usize = 64;

/// One level more than the deepest, for the lines inside it, and what little a line may want beyond
/// that.
const MAX_SPACES: usize = 2 * (MAX_INDENTED_LEVELS + 1) + 3;

/// A line break and the deepest indentation.
const NEW_LINE: &str = {
    const BYTES: [u8; 1 + MAX_SPACES] = {
        let mut bytes = [b' '; 1 + MAX_SPACES];
        bytes[0] = b'\n';
        bytes
    };
    match str::from_utf8(&BYTES) {
        Ok(text) => text,
        Err(_) => unreachable!(),
    }
};

/// A line break and this many spaces, as far as there are so many.
#[inline]
pub(crate) fn new_line(spaces: usize) -> &'static str {
    NEW_LINE.get(..1 + spaces).unwrap_or(NEW_LINE)
}

/// This many spaces, as far as there are so many.
#[inline]
pub(crate) fn indentation(spaces: usize) -> &'static str {
    new_line(spaces).get(1..).unwrap_or_default()
}
