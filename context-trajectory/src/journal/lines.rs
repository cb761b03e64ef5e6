//! The lines of a journal: writing, checking and scanning them, and the definition of a torn tail.

use std::io::{BufRead, Read};
use std::path::Path;

use context_core::{Error, ErrorKind, Result};

use super::{Form, MAX_WHOLE, RecordCallback, TornTail, failed};

const BEFORE_CHECK: &str = r#"{"check":""#;
const BEFORE_RECORD: &str = r#"","record":"#;
const CHECK_DIGITS: usize = 16;
/// The size of the unit that a disk writes completely or not at all.
const SECTOR: u64 = 512;

/// The end of a file.
pub(super) enum FileEnd {
    Complete,
    /// A complete line without its line feed.
    NoLineFeed,
    Torn(TornTail),
}

/// A scan over lines.
pub(super) struct Scan<'a> {
    pub(super) operation: &'static str,
    pub(super) path: &'a Path,
    pub(super) form: Form,
    pub(super) end: u64,
    pub(super) lines: u64,
}

impl Scan<'_> {
    pub(super) fn run(
        &mut self,
        mut file: impl BufRead,
        each: RecordCallback<'_>,
    ) -> Result<FileEnd> {
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = file.by_ref().take(MAX_WHOLE + 1).read_until(b'\n', &mut line);
            let bytes = read.map_err(|error| failed(self.operation, self.path, error))? as u64;
            if bytes == 0 {
                return Ok(FileEnd::Complete);
            }
            if bytes > MAX_WHOLE {
                return Err(self
                    .fault(ErrorKind::Invalid, "a line is too long")
                    .with("limit", MAX_WHOLE));
            }
            let ended = line.last() == Some(&b'\n');
            if ended {
                line.pop();
            }
            match record_of(&line) {
                Ok(record) if self.lines == 0 => self.expect_header(record)?,
                Ok(record) => each(self.lines + 1, record)?,
                Err(_) if !ended && self.is_torn(&line) => {
                    return Ok(FileEnd::Torn(TornTail { line: self.lines + 1, bytes }));
                }
                Err(_) if self.has_hole(&line, ended) => {
                    let rest = std::io::copy(&mut file, &mut std::io::sink());
                    let rest = rest.map_err(|error| failed(self.operation, self.path, error))?;
                    let bytes = bytes + rest;
                    return Ok(FileEnd::Torn(TornTail { line: self.lines + 1, bytes }));
                }
                Err(_) if self.lines == 0 && !line.starts_with(BEFORE_CHECK.as_bytes()) => {
                    return Err(self.fault(ErrorKind::Invalid, "the file is of another form"));
                }
                Err(reason) => return Err(self.fault(ErrorKind::Corrupt, reason)),
            }
            self.end += bytes;
            self.lines += 1;
            if !ended {
                return Ok(FileEnd::NoLineFeed);
            }
        }
    }

    /// Returns whether a last line without a line feed is the beginning of a record.
    fn is_torn(&self, line: &[u8]) -> bool {
        let kept = line.len() - line.iter().rev().take_while(|byte| **byte == 0).count();
        let written = &line[..kept];
        if self.lines > 0 {
            let known = BEFORE_CHECK.len().min(kept);
            return written[..known] == BEFORE_CHECK.as_bytes()[..known];
        }
        let mut first = String::new();
        write_line(&mut first, &header(self.form));
        first.as_bytes().starts_with(written)
    }

    /// Returns whether a part of a line never reached the disk. A loss of power may keep the length
    /// of a file and later writes, and lose earlier ones: their sectors are NUL bytes, which no
    /// record has.
    fn has_hole(&self, line: &[u8], ended: bool) -> bool {
        // Another program's file may begin with NUL bytes.
        let is_text = |byte: &u8| matches!(byte, 0 | b'\t' | b'\r' | b' '..);
        if self.lines == 0 && !line.iter().all(is_text) {
            return false;
        }
        let mut from = 0;
        while let Some(begin) = line[from..].iter().position(|byte| *byte == 0) {
            let begin = from + begin;
            let rest = &line[begin..];
            let end = begin + rest.iter().position(|byte| *byte != 0).unwrap_or(rest.len());
            let is_border = |at: usize| (self.end + at as u64).is_multiple_of(SECTOR);
            // A write begins at the beginning of a line.
            let begins = begin == 0 || is_border(begin);
            let next = &line[end..];
            let ends = is_border(end)
                || (next.is_empty() && !ended)
                || next.starts_with(BEFORE_CHECK.as_bytes());
            if begins && ends {
                return true;
            }
            from = end;
        }
        false
    }

    fn expect_header(&self, record: &str) -> Result<()> {
        #[derive(serde::Deserialize)]
        struct Header<'a> {
            form: &'a str,
            version: u32,
        }
        match serde_json::from_str::<Header<'_>>(record) {
            Ok(header) if header.form == self.form.name && header.version <= self.form.version => {
                Ok(())
            }
            Ok(header) if header.form == self.form.name => Err(self
                .fault(ErrorKind::Unsupported, "the file is of a newer version")
                .with("version", header.version)),
            _ => Err(self.fault(ErrorKind::Invalid, "the file is of another form")),
        }
    }

    fn fault(&self, kind: ErrorKind, message: &'static str) -> Error {
        Error::new(kind, self.operation, message)
            .with("path", self.path.display())
            .with("line", self.lines + 1)
    }
}

/// Returns the record of a line, or the reason why the line is invalid.
fn record_of(line: &[u8]) -> std::result::Result<&str, &'static str> {
    const SHAPE: &str = "a line is not in the form of a record";
    let line = std::str::from_utf8(line).map_err(|_| "a line is not text")?;
    let rest = line.strip_prefix(BEFORE_CHECK).ok_or(SHAPE)?;
    let (check, rest) = rest.split_at_checked(CHECK_DIGITS).ok_or(SHAPE)?;
    let record =
        rest.strip_prefix(BEFORE_RECORD).and_then(|rest| rest.strip_suffix('}')).ok_or(SHAPE)?;
    if *check == *checksum(record) { Ok(record) } else { Err("a line does not fit its checksum") }
}

pub(super) fn write_line(out: &mut String, record: &str) {
    for piece in [BEFORE_CHECK, &checksum(record), BEFORE_RECORD, record, "}\n"] {
        out.push_str(piece);
    }
}

pub(super) fn header(form: Form) -> String {
    format!(r#"{{"form":"{}","version":{}}}"#, form.name, form.version)
}

fn checksum(record: &str) -> String {
    let mut hex = blake3::hash(record.as_bytes()).to_hex().to_string();
    hex.truncate(CHECK_DIGITS);
    hex
}

/// Returns the text of a complete file with these records.
pub(crate) fn file_text<'a>(form: Form, records: impl IntoIterator<Item = &'a str>) -> String {
    let mut text = String::new();
    write_line(&mut text, &header(form));
    records.into_iter().for_each(|record| write_line(&mut text, record));
    text
}
