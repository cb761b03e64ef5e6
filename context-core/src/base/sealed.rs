//! The marks of what a layer has encrypted on its way to a backend.
//!
//! Core encrypts nothing. It knows these marks so that a limit means the same with such a layer as
//! without it: what a caller may write, the layer may write sealed, and so longer. And a check of a
//! graph does not call a body broken that only the layer above can read.

use crate::Encoded;

/// The kind of a stored form that is sealed.
pub const KIND: &str = "sealed";

/// How a text begins that is sealed. Base64 follows, without padding.
pub const TEXT_MARK: &str = "sealed:";

/// How sealed bytes begin that stand for themselves: a record, a blob.
pub const BYTES_MARK: [u8; 4] = *b"\0sld";

/// How many bytes a sealed record is longer than what it holds.
pub const RECORD_BYTES: usize = 61;

/// How many bytes a sealed stored form holds beside the bytes of the form within, at most: its kind
/// and version.
pub const FORM_BYTES: usize = 520;

/// How many bytes the sealed media type of a blob holds beside the type, at most: which blob it is.
pub const BLOB_NAME_BYTES: usize = 64;

/// How many bytes a sealed blob begins with before its first segment.
pub const BLOB_HEADER_BYTES: usize = 41;

/// How many bytes of a blob are sealed together.
pub const SEGMENT_BYTES: usize = 64 << 10;

/// How many bytes a sealed segment is longer than what it holds.
pub const SEGMENT_TAG_BYTES: usize = 16;

/// How long the bytes of a stored form count as.
pub(crate) fn form_length(form: &Encoded) -> usize {
    let length = form.bytes().len();
    if form.kind() == KIND { length.saturating_sub(RECORD_BYTES + FORM_BYTES) } else { length }
}

/// How long a text counts as.
pub(crate) fn text_length(text: &str) -> usize {
    text.strip_prefix(TEXT_MARK)
        .map_or(text.len(), |rest| (rest.len() * 3 / 4).saturating_sub(RECORD_BYTES))
}

/// How long a JSON value counts as.
pub(crate) fn json_length(json: &str) -> usize {
    let text = json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match text.filter(|text| text.starts_with(TEXT_MARK)) {
        Some(text) => text_length(text),
        None => json.len(),
    }
}

/// How long the media type of a blob counts as.
pub(crate) fn media_type_length(text: &str) -> usize {
    let length = text_length(text);
    if text.starts_with(TEXT_MARK) { length.saturating_sub(BLOB_NAME_BYTES) } else { length }
}

/// How long a chunk of a stream counts as.
pub(crate) fn chunk_length(bytes: &[u8]) -> usize {
    if is_sealed(bytes) { bytes.len().saturating_sub(RECORD_BYTES) } else { bytes.len() }
}

/// How long a blob counts as.
pub(crate) fn blob_length(bytes: &[u8]) -> usize {
    if !is_sealed(bytes) {
        return bytes.len();
    }
    let segments = bytes.len().saturating_sub(BLOB_HEADER_BYTES);
    let tags = segments.div_ceil(SEGMENT_BYTES + SEGMENT_TAG_BYTES) * SEGMENT_TAG_BYTES;
    segments.saturating_sub(tags)
}

/// Whether bytes have the mark.
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
