//! Output: JSON Lines or text to standard output, errors and notes to standard error, colour only
//! on a terminal.

mod failure;
mod file;
mod pager;
mod settings;
mod style;

use std::fmt::Display;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::sync::Mutex;

use bytesize::ByteSize;
use context_runtime::{Diagnostic, Json, JsonMap, Timestamp};
use serde::Serialize;

use self::failure::{as_json, as_text};
#[cfg(test)]
pub(crate) use self::failure::{failure_json, failure_text};
pub(crate) use self::failure::{report, report_to};
pub(crate) use self::file::{OutputFile, sync_name, write_file};
use self::settings::Screen;
pub(crate) use self::settings::{ColorWhen, OutputSettings};
use self::style::clean_around_styles;
pub(crate) use self::style::{Painted, Style};
use crate::error::Failure;
use crate::progress;
use crate::text::{ago, clean, clean_lines, full_time};

/// Standard output, and standard error for notes.
///
/// All output goes through this type. Text for people never contains hidden characters. Content
/// goes to a pipe or file byte by byte, and to a terminal without hidden characters. Names are
/// reduced to one line by [`clean`] where they are inserted into a text, since only there their
/// ends are known.
pub(crate) struct Output {
    settings: OutputSettings,
    screen: Screen,
    colour: bool,
    /// Whether standard error is that of the process, where progress can be shown.
    is_of_process: bool,
    /// Whether the command continues when the reader closes the output.
    outlives: bool,
    to: Content,
    beside: Mutex<Box<dyn Write + Send>>,
}

/// The output for content. On a terminal, hidden characters are escaped.
struct Content {
    to: Box<dyn Write + Send>,
    is_terminal: bool,
    /// The file that content goes to instead.
    file: Option<OutputFile>,
    /// The text so far, if it is kept for a pager.
    kept: Option<Vec<u8>>,
    /// The start of a character whose remaining bytes have not been written yet.
    partial: Vec<u8>,
}

impl Content {
    /// Writes text that a terminal may show as it is.
    fn safe(&mut self, text: &[u8]) -> io::Result<()> {
        match (&mut self.file, &mut self.kept) {
            (Some(file), _) => file.write_all(text),
            (None, Some(kept)) => {
                kept.extend_from_slice(text);
                Ok(())
            }
            // On a terminal where progress is drawn, the text takes its place at once.
            (None, None) if self.is_terminal && progress::is_drawn() => {
                progress::aside(|| self.to.write_all(text).and_then(|()| self.to.flush()))
            }
            (None, None) => self.to.write_all(text),
        }
    }
}

impl Write for Content {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(file) = &mut self.file {
            return file.write(bytes);
        }
        if !self.is_terminal {
            return self.to.write(bytes);
        }
        self.partial.extend_from_slice(bytes);
        let valid = match std::str::from_utf8(&self.partial) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.partial.len(),
        };
        let rest = self.partial.split_off(valid);
        let text = std::mem::replace(&mut self.partial, rest);
        self.safe(clean_lines(&String::from_utf8_lossy(&text)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl Output {
    pub(crate) fn new(settings: OutputSettings) -> Self {
        let stdout = io::stdout();
        let is_terminal = stdout.is_terminal();
        let mut output = Self::to(settings.json, BufWriter::new(stdout), io::stderr());
        output.colour = !settings.json && settings.color.applies_to(is_terminal);
        output.screen = Screen::of_stdout();
        output.to.is_terminal = is_terminal;
        output.is_of_process = true;
        output.settings = settings;
        output
    }

    /// Returns the output with these settings. Colours are used only if they always are.
    pub(crate) fn with(mut self, settings: OutputSettings) -> Self {
        self.colour = !settings.json && settings.color.applies_to(false);
        self.settings = settings;
        self
    }

    /// Returns the output for a terminal of this width.
    #[cfg(test)]
    pub(crate) fn with_columns(mut self, columns: Option<usize>) -> Self {
        self.screen.columns = columns;
        self
    }

    /// Returns the output as it would be on a terminal, without colours.
    #[cfg(test)]
    pub(crate) fn on_a_terminal(mut self) -> Self {
        self.to.is_terminal = true;
        self
    }

    /// Creates an output to other writers, without colours.
    pub(crate) fn to(
        json: bool,
        to: impl Write + Send + 'static,
        beside: impl Write + Send + 'static,
    ) -> Self {
        let to = Content {
            to: Box::new(to),
            is_terminal: false,
            file: None,
            kept: None,
            partial: Vec::new(),
        };
        Self {
            settings: OutputSettings { json, ..OutputSettings::default() },
            screen: Screen::default(),
            colour: false,
            is_of_process: false,
            outlives: false,
            to,
            beside: Mutex::new(Box::new(beside)),
        }
    }

    /// From here on, everything goes to a file.
    pub(crate) fn redirect(&mut self, path: &Path, force: bool) -> Result<(), Failure> {
        self.to.file = Some(OutputFile::create(path, force)?);
        (self.colour, self.screen) = (self.settings.color == ColorWhen::Always, Screen::default());
        Ok(())
    }

    /// Completes the file, if there is one. A command that fails leaves none.
    pub(crate) fn finish(&mut self) -> Result<(), Failure> {
        let Some(file) = self.to.file.take() else { return Ok(()) };
        let name = file.shown();
        let bytes = file.finish()?;
        self.note(format_args!("wrote {name}, {}", ByteSize(bytes)));
        Ok(())
    }

    /// From here on, text is kept for a pager, if it is for a person at a terminal.
    pub(crate) fn page(&mut self) {
        let is_paged = self.to.is_terminal && !self.settings.json && self.screen.rows.is_some();
        if is_paged && !self.settings.pager.is_empty() {
            self.to.kept.get_or_insert_default();
        }
    }

    /// The columns of the terminal. `None` where a line may have any length.
    pub(crate) fn columns(&self) -> Option<usize> {
        self.screen.columns
    }

    /// Returns a time as people tell it: by its distance to now, or in full with `--full-time`.
    pub(crate) fn when(&self, at: Timestamp) -> String {
        match self.settings.full_time {
            true => full_time(at),
            false => ago(self.settings.now, at),
        }
    }

    /// Sets the time of the command.
    pub(crate) fn at(&mut self, now: Timestamp) {
        self.settings.now = now;
    }

    /// From here on, the command completes its work even if the reader closes the output:
    /// `context retain | head -1` must not do half of it.
    pub(crate) fn outlive_reader(&mut self) {
        self.outlives = true;
    }

    fn written(&self, result: io::Result<()>) -> Result<(), Failure> {
        match result {
            Err(error) if self.outlives && error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            result => result.map_err(Failure::Write),
        }
    }

    /// Returns whether records are written instead of text.
    pub(crate) fn is_json(&self) -> bool {
        self.settings.json
    }

    /// Returns whether the progress of work is shown on standard error.
    pub(crate) fn shows_progress(&self) -> bool {
        self.is_of_process && !self.settings.json
    }

    /// Writes a record as one line of JSON.
    pub(crate) fn record(&mut self, record: &impl Serialize) -> Result<(), Failure> {
        // Messages keep their original line breaks, but a record must be one line.
        let record = Json::from_serialize(record).map_err(Failure::Record)?;
        let record = match self.settings.fields.as_slice() {
            [] => record,
            fields => selected(&record, fields).map_err(Failure::Record)?,
        };
        self.content(record.compact())
    }

    /// Writes a line for people.
    pub(crate) fn line(&mut self, line: impl Display) -> Result<(), Failure> {
        let line = line.to_string();
        let shown = if self.colour { clean_around_styles(&line) } else { clean_lines(&line) };
        let result = self.to.safe(format!("{shown}\n").as_bytes());
        self.written(result)
    }

    /// Writes a line of content.
    pub(crate) fn content(&mut self, line: impl Display) -> Result<(), Failure> {
        let result = writeln!(self.to, "{line}");
        self.written(result)
    }

    /// Returns the writer for content.
    pub(crate) fn writer(&mut self) -> &mut (dyn Write + Send) {
        &mut self.to
    }

    /// Writes text as content.
    pub(crate) fn text(&mut self, text: &str) -> Result<(), Failure> {
        self.bytes(text.as_bytes())
    }

    /// Writes bytes as content.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let result = self.to.write_all(bytes);
        self.written(result)
    }

    /// Returns whether colours are available.
    pub(crate) fn is_coloured(&self) -> bool {
        self.colour
    }

    /// Applies a style, if colours are available.
    pub(crate) fn paint<T: Display>(&self, style: Style, text: T) -> Painted<T> {
        Painted::new(Some(style).filter(|_| self.colour), text)
    }

    /// Writes a line to standard error, in place of the progress.
    fn beside(&self, line: &str) -> io::Result<()> {
        let Ok(mut beside) = self.beside.lock() else { return Ok(()) };
        progress::aside(|| writeln!(beside, "{line}"))
    }

    /// Writes a note to standard error. Omitted with `--json`.
    pub(crate) fn note(&self, text: impl Display) {
        if !self.settings.json {
            // A note that cannot be written is not a failure.
            let _ = self.beside(&format!("note: {}", clean(&text.to_string())));
        }
    }

    /// Writes a note about the text that was written, behind it.
    pub(crate) fn end_note(&mut self, text: impl Display) -> Result<(), Failure> {
        self.flush()?;
        self.note(text);
        Ok(())
    }

    /// Writes text to standard error that is longer than a note. Omitted with `--json`.
    pub(crate) fn to_stderr(&self, text: impl Display) {
        if !self.settings.json {
            let _ = self.beside(&clean_lines(&text.to_string()));
        }
    }

    /// Writes a record to standard error, for commands whose output is JSON of another form.
    pub(crate) fn record_to_stderr(&self, record: &impl Serialize) -> Result<(), Failure> {
        let line = Json::from_serialize(record).map_err(Failure::Record)?.compact();
        // Escaped, the JSON is readable for people and has the same value.
        self.beside(&clean(line.as_str())).map_err(Failure::Write)
    }

    /// Writes diagnostics as notes. With `--json` they are part of the record.
    pub(crate) fn diagnostics(&self, about: &str, diagnostics: &[Diagnostic]) {
        diagnostics.iter().for_each(|diagnostic| self.note(format_args!("{about}: {diagnostic}")));
    }

    /// Reports why a part of the work failed while the rest continues.
    pub(crate) fn failure(&self, failure: &Failure) {
        let text = if self.settings.json { as_json(failure) } else { as_text(failure, false) };
        let _ = self.beside(&text);
    }

    /// Writes everything, through the pager if it is needed.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        if let Some(text) = self.to.kept.take() {
            let is_shown =
                pager::is_needed(&text, self.screen) && pager::show(&self.settings.pager, &text);
            let result = if is_shown { Ok(()) } else { self.to.to.write_all(&text) };
            self.written(result)?;
        }
        let result = self.to.flush();
        self.written(result)
    }
}

/// Returns a record with only these fields, in this order. A field that it does not have is left
/// out.
fn selected(record: &Json, fields: &[String]) -> Result<Json, serde_json::Error> {
    let all: JsonMap = record.parse()?;
    let kept = fields.iter().filter_map(|field| Some((field.clone(), all.get(field)?.clone())));
    Json::from_serialize(&kept.collect::<JsonMap>())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct ClosedWriter;

    impl Write for ClosedWriter {
        fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }

    /// A writer that keeps the bytes, with styles.
    #[derive(Clone, Default)]
    struct BufferWriter(std::sync::Arc<Mutex<Vec<u8>>>);

    impl Write for BufferWriter {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("nobody panics while writing").extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl BufferWriter {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().expect("nobody panics while writing").clone())
                .expect("text")
        }
    }

    #[test]
    fn content_is_byte_for_byte_in_a_pipe_and_harmless_on_a_terminal() {
        let content = "a\u{1b}[2J\u{202e}\n";
        let (pipe, terminal) = (BufferWriter::default(), BufferWriter::default());
        Output::to(false, pipe.clone(), ClosedWriter).text(content).expect("written");
        let mut out = Output::to(false, terminal.clone(), ClosedWriter).on_a_terminal();
        // However the bytes are split.
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
        let paper = BufferWriter::default();
        let mut out = Output { colour: true, ..Output::to(false, paper.clone(), ClosedWriter) };
        let name = out.paint(Style::Bold, "x\u{9b}2J").to_string();
        out.line(format_args!("{name} \u{1b}]0;title\u{7} \u{1b}")).expect("written");
        assert_eq!(paper.text(), "\u{1b}[1mx\\u009b2J\u{1b}[0m \\u001b]0;title\\u0007 \\u001b\n");
    }

    #[test]
    fn a_reader_that_goes_away_stops_reading_but_not_removing() {
        let mut out = Output::to(false, ClosedWriter, ClosedWriter);
        assert!(out.line("x").is_err_and(|failure| failure.is_closed_pipe()));
        out.outlive_reader();
        assert!(out.line("x").is_ok() && out.text("x").is_ok() && out.flush().is_ok());
    }
}
