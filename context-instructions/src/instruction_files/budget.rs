//! Distribution of the size limit among the files.

use super::text::FileText;

/// The part of a text that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Allotment {
    /// The number of bytes that are kept, from the beginning.
    pub(super) bytes: usize,
    /// The limit that applies to this text.
    pub(super) limit: usize,
}

/// Returns the part that is kept of each text, in the order of the texts. The last text gets its
/// room first. Once a text had to be cut for the total limit, the texts before it are left out.
pub(super) fn allot<'a>(
    texts: impl DoubleEndedIterator<Item = &'a FileText>,
    max_bytes: usize,
    max_file_bytes: usize,
) -> Vec<Allotment> {
    let mut room = max_bytes;
    let mut allotments: Vec<_> = texts
        .rev()
        .map(|file| {
            let size = usize::try_from(file.bytes()).unwrap_or(usize::MAX).min(max_file_bytes);
            let bytes = cut(&file.text, size.min(room));
            let limit = if size > room { max_bytes } else { max_file_bytes };
            room = if size > room { 0 } else { room - bytes };
            Allotment { bytes, limit }
        })
        .collect();
    allotments.reverse();
    allotments
}

/// Returns the largest end of a text within `limit` bytes: after a line, unless that would waste
/// more than half of the limit, otherwise after a character.
fn cut(text: &str, limit: usize) -> usize {
    if limit >= text.len() {
        return text.len();
    }
    let end = text.floor_char_boundary(limit);
    match text[..end].rfind('\n') {
        Some(line) if line + 1 >= end / 2 => line + 1,
        _ => end,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{FileText, cut};

    fn file(text: &str) -> FileText {
        FileText { text: text.to_owned(), unread: 0, lossy: false }
    }

    fn allot(files: &[FileText], max: usize, per_file: usize) -> Vec<usize> {
        super::allot(files.iter(), max, per_file)
            .into_iter()
            .map(|allotment| allotment.bytes)
            .collect()
    }

    #[test]
    fn the_nearest_keeps_all_and_the_farthest_nothing() {
        let files = [file("far\n"), file("one\ntwo\nthree\n"), file("near\n")];
        assert_eq!(allot(&files, 100, 100), [4, 14, 5]);
        // Ten bytes for the second text: two lines and a piece. The room that this leaves does not
        // go to the first text.
        assert_eq!(allot(&files, 15, 100), [0, 8, 5]);
        assert_eq!(allot(&files, 5, 100), [0, 0, 5]);
        assert_eq!(allot(&files, 0, 100), [0, 0, 0]);
        let limits =
            super::allot(files.iter(), 15, 13).into_iter().map(|allotment| allotment.limit);
        assert_eq!(limits.collect::<Vec<_>>(), [15, 15, 13]);
        // The limit of one file does not leave out other files.
        assert_eq!(allot(&files, 100, 9), [4, 8, 5]);
    }

    #[test]
    fn a_text_without_lines_is_cut_behind_a_character() {
        assert_eq!(cut("ééé", 3), 2);
        assert_eq!(cut("a\nbbbbbbbb", 8), 8);
        assert_eq!(cut("aaaa\nbbbbb", 8), 5);
        assert_eq!(cut("é", 1), 0);
    }

    proptest! {
        #[test]
        fn limits_hold_and_texts_are_cut_between_characters(
            texts in prop::collection::vec("[aé\n]{0,12}", 0..6), max in 0usize..40,
                per_file in 0usize..20,
        ) {
            let files: Vec<_> = texts.iter().map(|text| file(text)).collect();
            let allotments = allot(&files, max, per_file);
            prop_assert!(allotments.iter().sum::<usize>() <= max);
            for (text, &bytes) in texts.iter().zip(&allotments) {
                prop_assert!(bytes <= per_file && text.is_char_boundary(bytes));
            }
            if texts.iter().map(String::len).sum::<usize>() <= max
                && texts.iter().all(|t| t.len() <= per_file) {
                let is_complete = |(text, bytes): (&String, &usize)| text.len() == *bytes;
                prop_assert!(texts.iter().zip(&allotments).all(is_complete));
            }
        }
    }
}
