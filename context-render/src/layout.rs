//! Indentation, for the formats that show depth by indentation.

/// The number of indented levels, two spaces each. Deeper levels are indented like the last of
/// them; otherwise the indentation of a deep tree would grow with the square of its depth.
pub(crate) const MAX_INDENTED_LEVELS: usize = 64;

/// The deepest indentation: one level more than [`MAX_INDENTED_LEVELS`], for the lines inside the
/// deepest level, and three spaces more that a line may need.
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

/// Returns a line break and `spaces` spaces, at most [`MAX_SPACES`].
#[inline]
pub(crate) fn new_line(spaces: usize) -> &'static str {
    NEW_LINE.get(..1 + spaces).unwrap_or(NEW_LINE)
}

/// Returns `spaces` spaces, at most [`MAX_SPACES`].
#[inline]
pub(crate) fn indentation(spaces: usize) -> &'static str {
    new_line(spaces).get(1..).unwrap_or_default()
}
