//! The chats of a JSON Lines file, one after the other. Each is checked before it is written.

use std::io::{BufRead, Seek, SeekFrom};

use context_core::base::{DiagnosticCode, Severity};
use context_core::store::Chat;
use context_core::{CancelSignal, Diagnostic, Error, ErrorKind, Result, UserId};

use super::check::{ChatCheck, Finding, Unsound, check_bodies};
use super::line::{self, LineError, MAX_LINE, OPERATION, unavailable};
use super::record::ChatRecord;

/// A line that is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BrokenLine {
    /// The line number, from 1.
    pub line: u64,
    /// The problem of the line. The path names the line.
    pub diagnostic: Diagnostic,
}

/// The maximum number of listed broken lines, since a file may have any number of them.
const MAX_LISTED: usize = 10_000;

/// The share of the check in the time that an import takes, as one of this many parts. The real one
/// depends on the store.
const CHECK_SHARE: u64 = 4;

/// A chat of the file.
pub(super) struct Section {
    /// The chat record.
    pub(super) source: Chat,
    /// Whether all its lines can be read and fit together.
    pub(super) sound: bool,
    /// The position after its first line.
    body: FilePosition,
}

#[derive(Clone, Copy)]
struct FilePosition {
    offset: u64,
    line: u64,
}

/// Reads a file chat by chat.
pub(super) struct Sections<'a, R> {
    input: &'a mut R,
    user: UserId,
    cancel: &'a CancelSignal,
    /// The broken lines so far, up to the limit.
    pub(super) broken: Vec<BrokenLine>,
    /// The number of broken lines so far.
    pub(super) faults: u64,
    buffer: Vec<u8>,
    /// The position: bytes and lines read so far.
    at: FilePosition,
    /// The part of a chat that counts as done when all of it is checked: one of this many.
    check_share: u64,
    /// The offset of the first byte.
    start: u64,
    /// The offset at which the current chat begins.
    begun: u64,
    /// The offset at which the current chat ends, when it is read for the second time.
    end: Option<u64>,
}

impl<'a, R: BufRead + Seek> Sections<'a, R> {
    /// Begins to read chats, to check them or to write them too.
    pub(super) fn new(
        input: &'a mut R,
        user: UserId,
        cancel: &'a CancelSignal,
        writes: bool,
    ) -> Result<Self> {
        let start = input
            .stream_position()
            .map_err(|error| unavailable(OPERATION, "cannot read", error))?;
        let (broken, buffer, at) =
            (Vec::new(), Vec::new(), FilePosition { offset: start, line: 0 });
        let (begun, end) = (start, None);
        let check_share = if writes { CHECK_SHARE } else { 1 };
        Ok(Self {
            input,
            user,
            cancel,
            broken,
            faults: 0,
            buffer,
            at,
            check_share,
            start,
            begun,
            end,
        })
    }

    /// Checks the next chat. Returns `None` at the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<Section>> {
        // Stray lines are reported once, and not at all after an unreadable line, since they may
        // belong to its chat.
        let mut is_reported = false;
        loop {
            (self.begun, self.end) = (self.at.offset, None);
            match self.read()? {
                Line::End => return Ok(None),
                Line::Record(ChatRecord::Chat(source)) => return self.chat(source).map(Some),
                Line::Record(_) if is_reported => {}
                Line::Record(_) => self.report(self.at.line, "it belongs to no chat"),
                Line::Faulty(error) => self.report(self.at.line, &error.to_string()),
            }
            is_reported = true;
        }
    }

    fn chat(&mut self, source: Chat) -> Result<Section> {
        let (body, before) = (self.at, self.faults);
        let mut check = ChatCheck::new(source.active.clone(), body.line);
        // Only the first line that does not fit is reported, because the others may be
        // consequences.
        let mut fits = true;
        loop {
            let place = self.at;
            let record = match self.read()? {
                Line::End => {
                    self.report(self.at.line, "the file ends before its chat does");
                    break;
                }
                Line::Faulty(error) => {
                    self.report(self.at.line, &error.to_string());
                    fits = false;
                    continue;
                }
                Line::Record(record) => record,
            };
            let begins = matches!(record, ChatRecord::Chat(_));
            if fits && let Err(Finding { line, problem }) = self.check(&mut check, &record) {
                self.report(line, &problem.to_string());
                fits = false;
            } else if begins {
                self.report(self.at.line, &Unsound::Begun.to_string());
            }
            if begins {
                self.go(place)?;
            }
            if begins || matches!(record, ChatRecord::End { .. }) {
                break;
            }
        }
        Ok(Section { source, sound: self.faults == before, body })
    }

    fn check(&self, check: &mut ChatCheck, record: &ChatRecord) -> Result<(), Finding> {
        let line = self.at.line;
        if let ChatRecord::Message(message) = record {
            check_bodies(message).map_err(|problem| Finding { line, problem })?;
        }
        check.push(record, line)
    }

    /// Returns whether another chat follows.
    pub(super) fn has_another(&mut self) -> Result<bool> {
        let place = self.at;
        let follows = loop {
            match self.read()? {
                Line::End => break false,
                Line::Record(ChatRecord::Chat(_)) => break true,
                Line::Record(_) | Line::Faulty(_) => {}
            }
        };
        self.go(place)?;
        Ok(follows)
    }

    /// Goes back to the line after the first line of a chat.
    pub(super) fn seek(&mut self, section: &Section) -> Result<()> {
        self.end = Some(self.at.offset);
        self.go(section.body)
    }

    fn go(&mut self, place: FilePosition) -> Result<()> {
        let sought = self.input.seek(SeekFrom::Start(place.offset));
        sought.map_err(|error| unavailable(OPERATION, "cannot read", error))?;
        self.at = place;
        Ok(())
    }

    /// Returns the next record of a chat that was checked.
    pub(super) fn record(&mut self) -> Result<ChatRecord> {
        let changed =
            || Error::new(ErrorKind::Conflict, OPERATION, "the file was changed while it was read");
        let line = self.at.line + 1;
        match self.read()? {
            Line::Record(record) => Ok(record),
            Line::Faulty(_) | Line::End => Err(changed().with("line", line)),
        }
    }

    /// Reads the next non-blank line.
    fn read(&mut self) -> Result<Line> {
        loop {
            self.cancel.check(OPERATION)?;
            let fits = match self.line()? {
                None => return Ok(Line::End),
                Some(fits) => fits,
            };
            if !fits {
                return Ok(Line::Faulty(LineError::TooLong));
            }
            if !self.buffer.trim_ascii().is_empty() {
                return Ok(match line::read(&self.buffer, &self.user) {
                    Ok(record) => Line::Record(record),
                    Err(error) => Line::Faulty(error),
                });
            }
        }
    }

    /// Reads the next line. Returns whether its length is within the limit; a longer line is
    /// skipped. Returns `None` at the end.
    fn line(&mut self) -> Result<Option<bool>> {
        self.buffer.clear();
        // Releases the buffer of one long line before the following short ones.
        self.buffer.shrink_to(1 << 20);
        let (mut length, mut ended) = (0, false);
        while !ended {
            self.cancel.check(OPERATION)?;
            let found = self
                .input
                .fill_buf()
                .map_err(|error| unavailable(OPERATION, "cannot read", error))?;
            if found.is_empty() {
                break;
            }
            let end = found.iter().position(|byte| *byte == b'\n');
            ended = end.is_some();
            let taken = end.map_or(found.len(), |end| end + 1);
            length += taken as u64;
            if length <= MAX_LINE {
                self.buffer.extend_from_slice(&found[..taken]);
            } else {
                self.buffer = Vec::new();
            }
            self.input.consume(taken);
        }
        self.at.offset += length;
        self.at.line += u64::from(length > 0);
        self.cancel.report("byte", self.done());
        Ok((length > 0).then_some(length <= MAX_LINE))
    }

    /// Returns the number of bytes that are done. Those of the current chat count in part when they
    /// are checked, since nobody knows yet whether the chat will be written.
    fn done(&self) -> u64 {
        let (checked, written) = match self.end {
            None => (self.at.offset, self.begun),
            Some(end) => (end, self.at.offset),
        };
        let [checked, written] = [checked, written].map(|to| to.saturating_sub(self.begun));
        let share = self.check_share;
        self.begun - self.start + checked / share + (written - written / share)
    }

    fn report(&mut self, line: u64, text: &str) {
        self.faults += 1;
        if self.broken.len() == MAX_LISTED {
            return;
        }
        let path = format!("line {line}");
        let diagnostic =
            Diagnostic::new(DiagnosticCode::BrokenInput, Severity::Warning, path, text);
        self.broken.push(BrokenLine { line, diagnostic });
    }
}

/// A line of the file.
enum Line {
    Record(ChatRecord),
    Faulty(LineError),
    End,
}
