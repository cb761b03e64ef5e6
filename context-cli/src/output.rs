//! Writing: JSON Lines or text to standard output, errors and notes to standard error, colour on a
//! terminal only.

use std::borrow::Cow;
use std::error::Error as _;
use std::fmt::{self, Display, Write as _};
use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::sync::Mutex;

use context_runtime::{Diagnostic, Json, JsonMap};
use serde::Serialize;

use crate::error::Failure;
use crate::text::{clean, clean_lines};

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
///
/// Everything that is shown goes through here. What is written for people has no hidden characters,
/// wherever it goes; content goes byte by byte into a pipe or a file, and without hidden characters
/// to a terminal. Names are made one line by [`clean`] where they are put into a text: only there
/// it is known where they end.
pub(crate) struct Output {
    json: bool,
    colour: bool,
    /// Whether it is no reason to stop that nobody reads any more.
    outlives: bool,
    to: Content,
    beside: Mutex<Box<dyn Write + Send>>,
}

/// Where content goes that is the output as it is; on a terminal its hidden characters are escaped.
struct Content {
    to: Box<dyn Write + Send>,
    is_terminal: bool,
    /// The beginning of a character whose end has not been written yet.
    begun: Vec<u8>,
}

impl Write for Content {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_terminal {
            return self.to.write(bytes);
        }
        self.begun.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.begun) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.begun.len(),
        };
        let rest = self.begun.split_off(whole);
        let text = std::mem::replace(&mut self.begun, rest);
        self.to.write_all(clean_lines(&String::from_utf8_lossy(&text)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl Output {
    pub(crate) fn new(json: bool) -> Self {
        let stdout = io::stdout();
        let (colour, is_terminal) = (!json && is_coloured(&stdout), stdout.is_terminal());
        let mut output = Self { colour, ..Self::to(json, BufWriter::new(stdout), io::stderr()) };
        output.to.is_terminal = is_terminal;
        output
    }

    /// The same as it would be on a terminal, without colours.
    #[cfg(test)]
    pub(crate) fn on_a_terminal(mut self) -> Self {
        self.to.is_terminal = true;
        self
    }

    /// Output to elsewhere, without colours.
    pub(crate) fn to(
        json: bool,
        to: impl Write + Send + 'static,
        beside: impl Write + Send + 'static,
    ) -> Self {
        let (colour, outlives) = (false, false);
        let to = Content { to: Box::new(to), is_terminal: false, begun: Vec::new() };
        Self { json, colour, outlives, to, beside: Mutex::new(Box::new(beside)) }
    }

    /// From here on the command does its work to the end even if nobody reads what it says: half of
    /// it done is not what `context retain | head -1` means.
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
        self.content(line)
    }

    /// Writes a line for people.
    pub(crate) fn line(&mut self, line: impl Display) -> Result<(), Failure> {
        let line = line.to_string();
        let shown = if self.colour { clean_around_styles(&line) } else { clean_lines(&line) };
        let result = writeln!(self.to.to, "{shown}");
        self.written(result)
    }

    /// Writes a line of content.
    pub(crate) fn content(&mut self, line: impl Display) -> Result<(), Failure> {
        let result = writeln!(self.to, "{line}");
        self.written(result)
    }

    /// Where content goes.
    pub(crate) fn writer(&mut self) -> &mut (dyn Write + Send) {
        &mut self.to
    }

    /// Writes text that is content.
    pub(crate) fn text(&mut self, text: &str) -> Result<(), Failure> {
        self.bytes(text.as_bytes())
    }

    /// Writes bytes that are content.
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
            let _ = writeln!(beside, "note: {}", clean(&text.to_string()));
        }
    }

    /// Says more than a note beside the output; not beside JSON.
    pub(crate) fn beside(&self, text: impl Display) {
        if let (false, Ok(mut beside)) = (self.json, self.beside.lock()) {
            let _ = writeln!(beside, "{}", clean_lines(&text.to_string()));
        }
    }

    /// Writes a record beside output that is JSON of another form.
    pub(crate) fn record_beside(&self, record: &impl Serialize) -> Result<(), Failure> {
        let line = Json::from_serialize(record).map_err(Failure::Record)?.compact();
        match self.beside.lock() {
            // For programs and for people: escaped it is the same JSON.
            Ok(mut beside) => writeln!(beside, "{}", clean(line.as_str())).map_err(Failure::Write),
            Err(_) => Ok(()),
        }
    }

    /// Says what should be known; in JSON it is part of the record.
    pub(crate) fn diagnostics(&self, about: &str, diagnostics: &[Diagnostic]) {
        diagnostics.iter().for_each(|diagnostic| self.note(format_args!("{about}: {diagnostic}")));
    }

    /// Tells why a part of the work failed, where the rest goes on.
    pub(crate) fn failure(&self, failure: &Failure) {
        let text = if self.json { as_json(failure) } else { as_text(failure, false) };
        if let Ok(mut beside) = self.beside.lock() {
            let _ = writeln!(beside, "{text}");
        }
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

/// The lines of a text with what is hidden escaped, but for the styles that [`Painted`] writes.
fn clean_around_styles(text: &str) -> Cow<'_, str> {
    const STYLES: [&str; 6] = ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m"];
    let (mut shown, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find('\x1b') {
        shown.push_str(&clean_lines(&rest[..at]));
        let length = STYLES
            .iter()
            .find(|style| rest[at..].starts_with(**style))
            .map_or(0, |style| style.len());
        match length {
            0 => shown.push_str(&clean("\x1b")),
            length => shown.push_str(&rest[at..at + length]),
        }
        rest = &rest[at + length.max(1)..];
    }
    shown.push_str(&clean_lines(rest));
    Cow::Owned(shown)
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

/// Tells why a command failed elsewhere, without colours.
pub(crate) fn report_to(mut to: impl Write, failure: &Failure, json: bool) {
    let text = if json { as_json(failure) } else { as_text(failure, false) };
    // There is nowhere else to say it.
    let _ = writeln!(to, "{text}");
}

/// What a person reads about a failure, without colours.
#[cfg(test)]
pub(crate) fn told(failure: &Failure) -> String {
    as_text(failure, false)
}

/// What a program reads about a failure.
#[cfg(test)]
pub(crate) fn told_json(failure: &Failure) -> String {
    as_json(failure)
}

fn as_json(failure: &Failure) -> String {
    let context = failure
        .context()
        .into_iter()
        .map(|(key, value)| (key.to_owned(), Json::from(value.as_str())));
    let body = ErrorBody {
        kind: failure.kind(),
        message: full_message(failure),
        context: context.collect(),
    };
    let record = serde_json::to_string(&ErrorRecord { error: body });
    // For programs and for people: escaped it is the same JSON.
    record.map_or_else(|_| failure.kind().to_owned(), |record| clean(&record).into_owned())
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

    /// What was written, with its styles.
    #[derive(Clone, Default)]
    struct Paper(std::sync::Arc<Mutex<Vec<u8>>>);

    impl Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("nobody panics while writing").extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Paper {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().expect("nobody panics while writing").clone())
                .expect("text")
        }
    }

    #[test]
    fn content_is_byte_for_byte_in_a_pipe_and_harmless_on_a_terminal() {
        let content = "a\u{1b}[2J\u{202e}\n";
        let (pipe, terminal) = (Paper::default(), Paper::default());
        Output::to(false, pipe.clone(), Gone).text(content).expect("written");
        let mut out = Output::to(false, terminal.clone(), Gone).on_a_terminal();
        // However the bytes come.
        content.as_bytes().iter().for_each(|byte| out.bytes(&[*byte]).expect("written"));
        out.record(&content).expect("written");
        assert_eq!(pipe.text(), content);
        let (shown, record) = terminal
            .text()
            .split_once('\n')
            .map(|(a, b)| (a.to_owned(), b.to_owned()))
            .expect("two");
        assert_eq!(shown, r"a\u001b[2J\u202e");
        assert!(!record.trim_end().contains(crate::text::is_hidden), "{record:?}");
        assert_eq!(serde_json::from_str::<String>(&record).expect("JSON"), content);
    }

    #[test]
    fn styles_are_written_and_no_other_sequences() {
        let paper = Paper::default();
        let mut out = Output { colour: true, ..Output::to(false, paper.clone(), Gone) };
        let name = out.paint(Style::Bold, "x\u{9b}2J").to_string();
        out.line(format_args!("{name} \u{1b}]0;title\u{7} \u{1b}")).expect("written");
        assert_eq!(paper.text(), "\u{1b}[1mx\\u009b2J\u{1b}[0m \\u001b]0;title\\u0007 \\u001b\n");
    }

    #[test]
    fn a_reader_that_goes_away_stops_reading_but_not_removing() {
        let mut out = Output::to(false, Gone, Gone);
        assert!(out.line("x").is_err_and(|failure| failure.is_closed_pipe()));
        out.outlive_reader();
        assert!(out.line("x").is_ok() && out.text("x").is_ok() && out.flush().is_ok());
    }
}
