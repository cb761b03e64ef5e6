//! Reading files and standard input as text.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::OnceLock;

use crate::error::Failure;

/// The largest file or standard input that is read as a whole, in bytes.
pub(crate) const MAX_WHOLE: u64 = 256 << 20;

/// Reads everything up to a limit. Fails, without reading further, if there is more.
pub(crate) fn read_bounded(from: impl Read, shown: &str, limit: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let failed = |source| Failure::Read { file: shown.to_owned(), source };
    from.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    match bytes.len() as u64 > limit {
        true => Err(Failure::TooLarge { file: shown.to_owned(), limit }),
        false => Ok(bytes),
    }
}

/// A text with the name of its source.
pub(crate) struct Input {
    /// The file as given on the command line, for messages.
    pub(crate) shown: String,
    /// The file name without folders, or `-` for standard input.
    pub(crate) name: String,
    /// The text.
    pub(crate) text: String,
    /// The numbers, from 1, of lines that are not UTF-8. In `text`, U+FFFD replaces the invalid
    /// bytes.
    pub(crate) not_text: Vec<usize>,
    /// The number of line ends before each block of `text`, computed when a line number is first
    /// needed.
    ends: OnceLock<Vec<usize>>,
}

/// The size in bytes of the blocks used to find line numbers.
const BLOCK: usize = 4096;

impl Input {
    pub(crate) fn new(shown: String, name: String, text: String, not_text: Vec<usize>) -> Self {
        Self { shown, name, text, not_text, ends: OnceLock::new() }
    }

    /// Reads a file, which must be text. `-` is standard input.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let input = Self::read_what_can_be(path)?;
        input.all_text()?;
        Ok(input)
    }

    /// Reads a file in which some lines may not be text.
    pub(crate) fn read_what_can_be(path: &Path) -> Result<Self, Failure> {
        let stdin = path.as_os_str() == "-";
        let shown = if stdin { "standard input".to_owned() } else { path.display().to_string() };
        let failed = |source| Failure::Read { file: shown.clone(), source };
        let bytes = match stdin {
            true => read_bounded(io::stdin().lock(), &shown, MAX_WHOLE)?,
            false => read_bounded(File::open(path).map_err(failed)?, &shown, MAX_WHOLE)?,
        };
        let (text, not_text) = match String::from_utf8(bytes) {
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
        let name = path
            .file_name()
            .map_or_else(|| shown.clone(), |name| name.to_string_lossy().into_owned());
        Ok(Self::new(shown, name, text, not_text))
    }

    /// Fails if a line of the file is not text.
    pub(crate) fn all_text(&self) -> Result<(), Failure> {
        self.not_text.first().map_or(Ok(()), |line| Err(self.no_text(*line)))
    }

    /// Returns the error for a line that is not text.
    pub(crate) fn no_text(&self, line: usize) -> Failure {
        Failure::NotText { file: self.shown.clone(), line }
    }

    /// Returns the file name without extension, as a default name for the content.
    pub(crate) fn stem(&self) -> String {
        match Path::new(&self.name).file_stem() {
            Some(stem) if self.name != "-" => stem.to_string_lossy().into_owned(),
            _ => "stdin".to_owned(),
        }
    }

    /// Returns the line, from 1, on which a part of the text starts.
    pub(crate) fn line_of(&self, part: &str) -> usize {
        let offset = (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        let before = &self.text.as_bytes()[..offset.min(self.text.len())];
        let block = before.len() / BLOCK;
        1 + self.ends().get(block).copied().unwrap_or(0) + newlines(&before[block * BLOCK..])
    }

    /// Cached, since a file with an error on every line needs every line number.
    fn ends(&self) -> &[usize] {
        self.ends.get_or_init(|| {
            let blocks = self.text.as_bytes().chunks(BLOCK).chain([&[][..]]);
            let ended = blocks
                .scan(0, |ended, block| Some(std::mem::replace(ended, *ended + newlines(block))));
            ended.collect()
        })
    }

    /// Returns the error for a part of the text that is not JSON.
    pub(crate) fn syntax(&self, part: &str, source: serde_json::Error) -> Failure {
        let line = self.line_of(part) + source.line().saturating_sub(1);
        Failure::Syntax { file: self.shown.clone(), line, column: source.column(), source }
    }
}

fn newlines(text: &[u8]) -> usize {
    text.iter().filter(|byte| **byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An endless source is not read to its end.
    #[test]
    fn what_is_larger_than_the_limit_is_refused_with_the_limit() {
        let error = read_bounded(io::repeat(0), "zeros", 1 << 10).expect_err("it never ends");
        assert_eq!(
            error.to_string(),
            "zeros is larger than 1024 bytes, the most that is read as a whole"
        );
        assert!(read_bounded(io::repeat(0).take(1 << 10), "zeros", 1 << 10).is_ok());
    }
}
