//! The chats of a file of JSON Lines, one after the other, each looked at before anything is made
//! of it.

use std::io::{BufRead, Seek, SeekFrom};

use context_core::base::{DiagnosticCode, Severity};
use context_core::store::Chat;
use context_core::{CancelSignal, Diagnostic, Error, ErrorKind, Result, UserId};

use super::check::{ChatCheck, Finding, Unsound, check_bodies};
use super::jsonl::{OPERATION, unavailable};
use super::line::{self, LineError, MAX_LINE};
use super::record::ChatRecord;

/// A line that is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BrokenLine {
    /// Which, from 1.
    pub line: u64,
    /// What is wrong with it; the path says which line.
    pub diagnostic: Diagnostic,
}

/// How many broken lines are listed: a file may have any number of them.
const MAX_LISTED: usize = 10_000;

/// A chat of the file.
pub(super) struct Section {
    /// What the chat says of itself.
    pub(super) source: Chat,
    /// Whether all its lines can be read and fit together.
    pub(super) sound: bool,
    /// Where the lines behind its first one begin.
    body: Place,
}

#[derive(Clone, Copy)]
struct Place {
    offset: u64,
    line: u64,
}

/// Reads a file chat by chat.
pub(super) struct Sections<'a, R> {
    input: &'a mut R,
    user: UserId,
    cancel: &'a CancelSignal,
    /// What is broken so far, as far as it is listed.
    pub(super) broken: Vec<BrokenLine>,
    /// How many lines are broken so far.
    pub(super) faults: u64,
    buffer: Vec<u8>,
    /// How many bytes and lines were read.
    at: Place,
}

impl<'a, R: BufRead + Seek> Sections<'a, R> {
    pub(super) fn new(input: &'a mut R, user: UserId, cancel: &'a CancelSignal) -> Result<Self> {
        let offset = input
            .stream_position()
            .map_err(|error| unavailable(OPERATION, "cannot read", error))?;
        let (broken, buffer, at) = (Vec::new(), Vec::new(), Place { offset, line: 0 });
        Ok(Self { input, user, cancel, broken, faults: 0, buffer, at })
    }

    /// Looks through the next chat; nothing at the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<Section>> {
        // What follows a line that cannot be read may belong to it: that is told once.
        let mut told = false;
        loop {
            match self.read()? {
                None => return Ok(None),
                Some(Ok(ChatRecord::Chat(source))) => return self.chat(source).map(Some),
                Some(Ok(_)) if told => {}
                Some(Ok(_)) => self.report(self.at.line, "it belongs to no chat"),
                Some(Err(error)) => self.report(self.at.line, &error.to_string()),
            }
            told = true;
        }
    }

    fn chat(&mut self, source: Chat) -> Result<Section> {
        let (body, before) = (self.at, self.faults);
        let mut check = ChatCheck::new(source.active.clone(), body.line);
        // The first thing that does not fit is told: the others may follow from it.
        let mut fits = true;
        loop {
            let place = self.at;
            let record = match self.read()? {
                None => {
                    self.report(self.at.line, "the file ends before its chat does");
                    break;
                }
                Some(Err(error)) => {
                    self.report(self.at.line, &error.to_string());
                    fits = false;
                    continue;
                }
                Some(Ok(record)) => record,
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

    /// Goes back to the first line of a chat behind the one that begins it.
    pub(super) fn seek(&mut self, section: &Section) -> Result<()> {
        self.go(section.body)
    }

    fn go(&mut self, place: Place) -> Result<()> {
        let sought = self.input.seek(SeekFrom::Start(place.offset));
        sought.map_err(|error| unavailable(OPERATION, "cannot read", error))?;
        self.at = place;
        Ok(())
    }

    /// The next record of a chat that was looked through.
    pub(super) fn record(&mut self) -> Result<ChatRecord> {
        let changed =
            || Error::new(ErrorKind::Conflict, OPERATION, "the file was changed while it was read");
        let line = self.at.line + 1;
        self.read()?.and_then(Result::ok).ok_or_else(|| changed().with("line", line))
    }

    /// Reads the next line that has something on it; nothing at the end.
    fn read(&mut self) -> Result<Option<Result<ChatRecord, LineError>>> {
        loop {
            self.cancel.check(OPERATION)?;
            let fits = match self.line()? {
                None => return Ok(None),
                Some(fits) => fits,
            };
            if !fits {
                return Ok(Some(Err(LineError::TooLong)));
            }
            if !self.buffer.trim_ascii().is_empty() {
                return Ok(Some(line::read(&self.buffer, &self.user)));
            }
        }
    }

    /// Reads the next line, and whether it is not too long: of one that is, nothing is kept.
    /// Nothing at the end.
    fn line(&mut self) -> Result<Option<bool>> {
        self.buffer.clear();
        // What one long line took is not held on to for all the short ones.
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
        Ok((length > 0).then_some(length <= MAX_LINE))
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
