//! Marks of values that a layer has encrypted on their way to a backend.
//!
//! This crate does not encrypt. It knows these marks for two reasons. A limit must mean the same
//! with and without an encrypting layer, which makes values longer. And a check of a graph must not
//! report bodies as malformed that only the encrypting layer can read.

use crate::Encoded;

/// The kind of a sealed stored form.
pub const KIND: &str = "sealed";

/// The prefix of a sealed text. Base64 without padding follows.
pub const TEXT_MARK: &str = "sealed:";

/// The prefix of sealed bytes, such as a record or a blob.
pub const BYTES_MARK: [u8; 4] = *b"\0sld";

/// The overhead of a sealed record in bytes.
pub const RECORD_BYTES: usize = 61;

/// Maximum overhead of a sealed stored form in bytes, for its kind and version.
pub const FORM_BYTES: usize = 520;

/// Maximum overhead of the sealed media type of a blob in bytes, for the blob's name.
pub const BLOB_NAME_BYTES: usize = 64;

/// Length of the header of a sealed blob in bytes, before its first segment.
pub const BLOB_HEADER_BYTES: usize = 41;

/// Number of bytes of a blob that are sealed together.
pub const SEGMENT_BYTES: usize = 64 << 10;

/// The overhead of a sealed segment in bytes.
pub const SEGMENT_TAG_BYTES: usize = 16;

/// Returns the length of a stored form for limits.
pub(crate) fn form_length(form: &Encoded) -> usize {
    let length = form.bytes().len();
    if form.kind() == KIND { length.saturating_sub(RECORD_BYTES + FORM_BYTES) } else { length }
}

/// Returns the length of a text for limits.
pub(crate) fn text_length(text: &str) -> usize {
    text.strip_prefix(TEXT_MARK)
        .map_or(text.len(), |rest| (rest.len() * 3 / 4).saturating_sub(RECORD_BYTES))
}

/// Returns the length of a JSON value for limits.
pub(crate) fn json_length(json: &str) -> usize {
    let text = json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match text.filter(|text| text.starts_with(TEXT_MARK)) {
        Some(text) => text_length(text),
        None => json.len(),
    }
}

/// Returns the length of a blob's media type for limits.
pub(crate) fn media_type_length(text: &str) -> usize {
    let length = text_length(text);
    if text.starts_with(TEXT_MARK) { length.saturating_sub(BLOB_NAME_BYTES) } else { length }
}

/// Returns the length of a stream chunk for limits.
pub(crate) fn chunk_length(bytes: &[u8]) -> usize {
    if is_sealed(bytes) { bytes.len().saturating_sub(RECORD_BYTES) } else { bytes.len() }
}

/// Returns the length of a blob for limits.
pub(crate) fn blob_length(bytes: &[u8]) -> usize {
    if !is_sealed(bytes) {
        return bytes.len();
    }
    let segments = bytes.len().saturating_sub(BLOB_HEADER_BYTES);
    let tags = segments.div_ceil(SEGMENT_BYTES + SEGMENT_TAG_BYTES) * SEGMENT_TAG_BYTES;
    segments.saturating_sub(tags)
}

/// Returns whether bytes have the mark.
pub(crate) fn is_sealed(bytes: &[u8]) -> bool {
    bytes.starts_with(&BYTES_MARK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_mark_counts_as_it_is() {
        assert_eq!(
            (text_length("sealed"), json_length("\"sealed\""), chunk_length(b"sld")),
            (6, 8, 3)
        );
        assert_eq!(form_length(&Encoded::new("message", 1, "abc")), 3);
    }

    #[test]
    fn what_has_one_counts_as_what_is_in_it() {
        let text = format!("{TEXT_MARK}{}", "A".repeat((RECORD_BYTES + 5) * 8 / 6));
        assert_eq!((text_length(&text), json_length(&format!("\"{text}\""))), (5, 5));
        for length in [0, 1, SEGMENT_BYTES, SEGMENT_BYTES + 1, 3 * SEGMENT_BYTES] {
            let segments = length.div_ceil(SEGMENT_BYTES).max(1);
            let sealed = BLOB_HEADER_BYTES + length + segments * SEGMENT_TAG_BYTES;
            let mut bytes = vec![0; sealed];
            bytes[..4].copy_from_slice(&BYTES_MARK);
            assert_eq!(blob_length(&bytes), length);
        }
    }
}
