//! The text of a file, with the name of the file and the numbers of its lines.

use std::sync::OnceLock;

use crate::{Format, TranscriptError, TreeError};

/// The size in bytes of the blocks used to find line numbers.
const BLOCK: usize = 4096;

/// The text of a file, with its name and line numbers.
///
/// ```
/// use context_transcript::FileText;
///
/// let file = FileText::from_bytes("a.jsonl", b"{}\n\xff\n".to_vec());
/// assert!(file.check_utf8().unwrap_err().to_string().contains("line 2"));
/// assert_eq!(file.line_of(&file.text()[3..]), 2);
/// ```
#[derive(Debug)]
pub struct FileText {
    name: String,
    shown: String,
    text: String,
    /// The numbers, from 1, of the lines that are not UTF-8.
    not_utf8: Vec<usize>,
    /// The number of line ends before each block of the text, computed when a line number is first
    /// needed.
    ends: OnceLock<Vec<usize>>,
}

impl FileText {
    /// Creates the text of a file. `name` is the file name without folders, which a chat keeps and
    /// whose ending tells JSON Lines.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let name = name.into();
        let (shown, text) = (name.clone(), text.into());
        Self { name, shown, text, not_utf8: Vec::new(), ends: OnceLock::new() }
    }

    /// Decodes the bytes of a file. A byte order mark is dropped. In lines that are not UTF-8,
    /// U+FFFD replaces the invalid bytes, and the lines are remembered.
    pub fn from_bytes(name: impl Into<String>, bytes: Vec<u8>) -> Self {
        let (text, not_utf8) = match String::from_utf8(bytes) {
            Ok(text) => (text, Vec::new()),
            Err(error) => {
                let lines = (1..).zip(error.as_bytes().split(|byte| *byte == b'\n'));
                let bad = lines.filter(|(_, line)| std::str::from_utf8(line).is_err());
                let bad = bad.map(|(number, _)| number).collect();
                (String::from_utf8_lossy(error.as_bytes()).into_owned(), bad)
            }
        };
        let text = match text.strip_prefix('\u{feff}') {
            Some(rest) => rest.to_owned(),
            None => text,
        };
        Self { not_utf8, ..Self::new(name, text) }
    }

    /// Sets the name that errors show, such as a path. By default it is the file name.
    #[must_use]
    pub fn shown_as(mut self, shown: impl Into<String>) -> Self {
        self.shown = shown.into();
        self
    }

    /// Returns the file name without folders.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the name that errors show.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Fails with [`TranscriptError::NotText`] if a line of the file is not UTF-8.
    pub fn check_utf8(&self) -> Result<(), TranscriptError> {
        self.not_utf8.first().map_or(Ok(()), |line| Err(self.not_text(*line)))
    }

    /// Fails with [`TranscriptError::NotText`] if this line, numbered from 1, is not UTF-8.
    pub(crate) fn check_line(&self, line: usize) -> Result<(), TranscriptError> {
        self.not_utf8.binary_search(&line).map_or(Ok(()), |_| Err(self.not_text(line)))
    }

    fn not_text(&self, line: usize) -> TranscriptError {
        TranscriptError::NotText { file: self.shown.clone(), line }
    }

    /// Returns the line, from 1, on which a part of the text starts. `part` must be a slice of
    /// [`FileText::text`]; any other text gives an arbitrary line.
    pub fn line_of(&self, part: &str) -> usize {
        let offset = (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        let before = &self.text.as_bytes()[..offset.min(self.text.len())];
        let block = before.len() / BLOCK;
        1 + self.ends().get(block).copied().unwrap_or(0) + line_feeds(&before[block * BLOCK..])
    }

    /// Returns the number of line ends before each block. The numbers are cached, since a file with
    /// an error on every line needs every line number.
    fn ends(&self) -> &[usize] {
        self.ends.get_or_init(|| {
            let blocks = self.text.as_bytes().chunks(BLOCK).chain([&[][..]]);
            let ended = blocks
                .scan(0, |ended, block| Some(std::mem::replace(ended, *ended + line_feeds(block))));
            ended.collect()
        })
    }

    /// Returns the error for a part of the text that is not JSON, with the place in the file.
    pub fn syntax_error(&self, part: &str, source: serde_json::Error) -> TranscriptError {
        let line = self.line_of(part) + source.line().saturating_sub(1);
        let (file, column) = (self.shown.clone(), source.column());
        TranscriptError::Syntax { file, line, column, source }
    }

    /// Returns the error for messages that do not make a tree.
    pub(crate) fn tree_error(&self, format: Format, source: TreeError) -> TranscriptError {
        TranscriptError::Tree { file: self.shown.clone(), format, source }
    }
}

fn line_feeds(text: &[u8]) -> usize {
    text.iter().filter(|byte| **byte == b'\n').count()
}
