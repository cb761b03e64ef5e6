//! Writing: JSON Lines or text to standard output, errors and notes to standard error, colour on a terminal only.

use std::error::Error as _;
use std::fmt::{self, Display, Write as _};
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::sync::Mutex;

use context_runtime::{Diagnostic, Json, JsonMap};
use serde::Serialize;

use crate::error::Failure;
use crate::text::clean;

/// How text is set off.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Style {
    Bold,
    Dim,
    Red,
    Green,
    Yellow,
}

/// Standard output, and standard error for what is said beside it.
pub(crate) struct Output {
    json: bool,
    colour: bool,
    /// Whether it is no reason to stop that nobody reads any more.
    outlives: bool,
    to: Box<dyn Write + Send>,
    beside: Mutex<Box<dyn Write + Send>>,
}

impl Output {
    pub(crate) fn new(json: bool) -> Self {
        let stdout = io::stdout();
        let colour = !json && is_coloured(&stdout);
        Self { colour, ..Self::to(json, BufWriter::new(stdout), io::stderr()) }
    }

    /// Output to elsewhere, without colours.
    pub(crate) fn to(
        json: bool,
        to: impl Write + Send + 'static,
        beside: impl Write + Send + 'static,
    ) -> Self {
        let (colour, outlives) = (false, false);
        Self { json, colour, outlives, to: Box::new(to), beside: Mutex::new(Box::new(beside)) }
    }

    /// From here on the command does its work to the end even if nobody reads what it says: half of it done is not
    /// what `context retain | head -1` means.
    pub(crate) fn outlive_reader(&mut self) {
        self.outlives = true;
    }

    fn written(&self, result: io::Result<()>) -> Result<(), Failure> {
        match result {
            Err(error) if self.outlives && error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            result => result.map_err(Failure::Write),
        }
    }

    /// Whether records are wanted and not text.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Writes a record as one line of JSON.
    pub(crate) fn record(&mut self, record: &impl Serialize) -> Result<(), Failure> {
        // Messages keep the line breaks they were written with; a record is one line.
        let line = Json::from_serialize(record).map_err(Failure::Record)?.compact();
        self.line(line)
    }

    /// Writes a line.
    pub(crate) fn line(&mut self, line: impl Display) -> Result<(), Failure> {
        let result = writeln!(self.to, "{line}");
        self.written(result)
    }

    /// Where bytes go that are the output as they are.
    pub(crate) fn writer(&mut self) -> &mut (dyn Write + Send) {
        &mut *self.to
    }

    /// Writes text as it is.
    pub(crate) fn text(&mut self, text: &str) -> Result<(), Failure> {
        self.bytes(text.as_bytes())
    }

    /// Writes bytes as they are.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let result = self.to.write_all(bytes);
        self.written(result)
    }

    /// Whether text can be set off by colours.
    pub(crate) fn is_coloured(&self) -> bool {
        self.colour
    }

    /// Sets text off, if colours are wanted.
    pub(crate) fn paint<T: Display>(&self, style: Style, text: T) -> Painted<T> {
        Painted { style: self.colour.then_some(style), text }
    }

    /// Says something beside the output.
    pub(crate) fn note(&self, text: impl Display) {
        if let (false, Ok(mut beside)) = (self.json, self.beside.lock()) {
            // A note nobody can read is no reason to fail.
            let _ = writeln!(beside, "note: {text}");
        }
    }

    /// Says more than a note beside the output; not beside JSON.
    pub(crate) fn beside(&self, text: impl Display) {
        if let (false, Ok(mut beside)) = (self.json, self.beside.lock()) {
            let _ = writeln!(beside, "{text}");
        }
    }

    /// Writes a record beside output that is JSON of another form.
    pub(crate) fn record_beside(&self, record: &impl Serialize) -> Result<(), Failure> {
        let line = Json::from_serialize(record).map_err(Failure::Record)?.compact();
        match self.beside.lock() {
            Ok(mut beside) => writeln!(beside, "{line}").map_err(Failure::Write),
            Err(_) => Ok(()),
        }
    }

    /// Says what should be known; in JSON it is part of the record.
    pub(crate) fn diagnostics(&self, about: &str, diagnostics: &[Diagnostic]) {
        diagnostics.iter().for_each(|diagnostic| self.note(clean(&format!("{about}: {diagnostic}"))));
    }

    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        let result = self.to.flush();
        self.written(result)
    }
}

/// Writes a file that must not exist, whole or not at all.
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    // What is cut off, as on a full disk, is not taken for the whole.
    file.write_all(bytes).inspect_err(|_| drop(std::fs::remove_file(path)))
}

fn is_coloured(to: &impl IsTerminal) -> bool {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    to.is_terminal() && set("NO_COLOR").is_none() && set("TERM").is_none_or(|term| term != "dumb")
}

/// Text that is set off when it is shown.
pub(crate) struct Painted<T> {
    style: Option<Style>,
    text: T,
}

impl<T: Display> Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = match self.style {
            None => return self.text.fmt(f),
            Some(Style::Bold) => 1,
            Some(Style::Dim) => 2,
            Some(Style::Red) => 31,
            Some(Style::Green) => 32,
            Some(Style::Yellow) => 33,
        };
        write!(f, "\x1b[{code}m")?;
        self.text.fmt(f)?;
        f.write_str("\x1b[0m")
    }
}

#[derive(Serialize)]
struct ErrorRecord {
    error: ErrorBody,
}

#[derive(Serialize)]
struct ErrorBody {
    kind: &'static str,
    message: String,
    context: JsonMap,
}

/// Tells why a command failed.
pub(crate) fn report(failure: &Failure, json: bool) {
    let mut stderr = io::stderr();
    let text = if json { as_json(failure) } else { as_text(failure, is_coloured(&stderr)) };
    // There is nowhere else to say it.
    let _ = writeln!(stderr, "{text}");
}

/// What a person reads about a failure, without colours.
#[cfg(test)]
pub(crate) fn told(failure: &Failure) -> String {
    as_text(failure, false)
}

fn as_json(failure: &Failure) -> String {
    let context =
        failure.context().into_iter().map(|(key, value)| (key.to_owned(), Json::from(value.as_str())));
    let body = ErrorBody { kind: failure.kind(), message: full_message(failure), context: context.collect() };
    serde_json::to_string(&ErrorRecord { error: body }).unwrap_or_else(|_| failure.kind().to_owned())
}

/// The message and its causes, which say what the message does not.
fn full_message(failure: &Failure) -> String {
    let mut text = failure.to_string();
    let mut cause = failure.source();
    while let Some(error) = cause {
        let said = error.to_string();
        let is_new = !text.contains(said.split(" at line ").next().unwrap_or(&said));
        if is_new && !matches!(failure, Failure::Store(_) if error.is::<context_runtime::Error>()) {
            let _ = write!(text, ": {said}");
        }
        cause = error.source();
    }
    text
}

fn as_text(failure: &Failure, colour: bool) -> String {
    let head = Painted { style: colour.then_some(Style::Red), text: "error" };
    let message = full_message(failure);
    let mut text = format!("{head}: {}", clean(&message));
    let facts: Vec<_> = failure
        .context()
        .into_iter()
        .filter(|(key, value)| *key != "operation" && !value.is_empty())
        .map(|(key, value)| format!("{key} {}", clean(&value)))
        .collect();
    if !facts.is_empty() {
        let _ = write!(text, "\n  {}", facts.join(" · "));
    }
    if let Some(advice) = failure.advice() {
        let _ = write!(text, "\n  {advice}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Gone;

    impl Write for Gone {
        fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }

    #[test]
    fn a_reader_that_goes_away_stops_reading_but_not_removing() {
        let mut out = Output::to(false, Gone, Gone);
        assert!(out.line("x").is_err_and(|failure| failure.is_closed_pipe()));
        out.outlive_reader();
        assert!(out.line("x").is_ok() && out.text("x").is_ok() && out.flush().is_ok());
    }
}
