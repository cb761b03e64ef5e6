//! The text of an instruction file.

use crate::files::FileHead;

/// The beginning of a file as text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FileText {
    /// The text that was read, with its original line ends.
    pub(super) text: String,
    /// The number of bytes of the file after this text.
    pub(super) unread: u64,
    /// Whether bytes that are not UTF-8 were replaced.
    pub(super) lossy: bool,
}

impl FileText {
    pub(super) fn new(head: FileHead) -> Self {
        let FileHead { mut bytes, len } = head;
        let mut unread = len.saturating_sub(bytes.len() as u64);
        if unread > 0
            && let Some(whole) = without_cut_character(&bytes)
        {
            unread += (bytes.len() - whole) as u64;
            bytes.truncate(whole);
        }
        let (text, lossy) = match String::from_utf8(bytes) {
            Ok(text) => (text, false),
            Err(error) => (String::from_utf8_lossy(error.as_bytes()).into_owned(), true),
        };
        let text = match text.strip_prefix('\u{feff}') {
            Some(text) => text.to_owned(),
            None => text,
        };
        Self { text, unread, lossy }
    }

    /// Returns whether there is nothing to show.
    pub(super) fn is_blank(&self) -> bool {
        self.unread == 0 && self.text.trim().is_empty()
    }

    /// Returns the length of the whole file in bytes, as text.
    pub(super) fn bytes(&self) -> u64 {
        self.text.len() as u64 + self.unread
    }
}

/// Returns the start of a character that the end of a read has cut, if there is one.
fn without_cut_character(bytes: &[u8]) -> Option<usize> {
    let tail = bytes.len().saturating_sub(3);
    let lead = tail + bytes[tail..].iter().rposition(|byte| byte & 0xc0 != 0x80)?;
    let incomplete =
        std::str::from_utf8(&bytes[lead..]).is_err_and(|error| error.error_len().is_none());
    incomplete.then_some(lead)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{FileHead, FileText};

    proptest! {
        #[test]
        fn a_text_cut_anywhere_is_still_text(text in "[aé€😀]{0,9}", limit in 0usize..20) {
            let bytes = text.as_bytes()[..limit.min(text.len())].to_vec();
            let read = FileText::new(FileHead { bytes, len: text.len() as u64 });
            prop_assert!(!read.lossy && text.starts_with(&read.text));
            prop_assert_eq!(read.bytes(), text.len() as u64);
        }

        #[test]
        fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..12), more in 0u64..3) {
            let len = bytes.len() as u64 + more;
            let lossy = more == 0 && std::str::from_utf8(&bytes).is_err();
            let read = FileText::new(FileHead { bytes, len });
            prop_assert!(more > 0 || read.lossy == lossy);
        }
    }
}
