//! To and from files of JSON Lines: the library's own form, which loses nothing.

use std::io::{BufRead, Write};

use context_core::{
    CancelSignal, Chat, ChatId, ChatRef, Diagnostic, DiagnosticCode, Error, ErrorKind, Result, Severity,
    Store, UserId,
};

use super::line::{self, LineError};
use super::reader::ChatReader;
use super::record::ChatRecord;
use super::writer::{ChatWriter, WrittenChat};

/// The longest line that is read, in bytes: several revisions of the largest body.
const MAX_LINE: u64 = 256 << 20;

/// What was exported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExportedJsonl {
    /// How many chats.
    pub chats: u64,
    /// How many messages, on all branches.
    pub messages: u64,
}

/// How a file is imported.
#[derive(Clone, Debug)]
pub struct ImportJsonl {
    /// Whose chats they become.
    pub user: UserId,
    /// What the chat of a file with one chat is called, if not as it was.
    pub chat: Option<ChatId>,
    /// Whether nothing is kept of a file in which anything is broken.
    pub strict: bool,
}

impl ImportJsonl {
    /// Keeps what is good, under the names it had.
    pub fn new(user: impl Into<UserId>) -> Self {
        Self { user: user.into(), chat: None, strict: false }
    }
}

/// A chat of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImportedChat {
    /// Which.
    pub chat: ChatRef,
    /// What was written; nothing if there was a chat of this name, which is left as it is.
    pub written: Option<WrittenChat>,
}

/// What was imported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub struct ImportedJsonl {
    /// The chats of the file, in order.
    pub chats: Vec<ImportedChat>,
    /// Lines that could not be read.
    pub broken: Vec<BrokenLine>,
}

/// A line that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BrokenLine {
    /// Which, from 1.
    pub line: u64,
    /// What is wrong with it; the path says which line.
    pub diagnostic: Diagnostic,
}

/// Writes chats as JSON Lines. `progress` is told how many messages are written so far. Asks `cancel` between pieces.
///
/// ```
/// use context_runtime::transfer::{ImportJsonl, export_jsonl, import_jsonl};
/// use context_runtime::{CancelSignal, ContextEngine, user};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = context_runtime::open("mem:").await?;
/// let mut chat = ContextEngine::builder(store.clone()).user("ada").chat("lisbon").open().await?;
/// chat.set([user("A train?")]).save().await?;
///
/// let (mut file, never) = (Vec::new(), CancelSignal::never());
/// export_jsonl(&*store, &[chat.chat_ref().clone()], &mut file, &never, &mut |_| ()).await?;
/// let elsewhere = context_runtime::open("mem:").await?;
/// let imported =
///     import_jsonl(&*elsewhere, &mut &file[..], &ImportJsonl::new("bob"), &never, &mut |_| ()).await?;
/// assert_eq!((imported.chats.len(), imported.broken.len()), (1, 0));
/// # Ok(())
/// # }
/// ```
pub async fn export_jsonl(
    store: &dyn Store,
    chats: &[ChatRef],
    out: &mut (dyn Write + Send),
    cancel: &CancelSignal,
    progress: &mut (dyn FnMut(u64) + Send),
) -> Result<ExportedJsonl> {
    const OPERATION: &str = "export_jsonl";
    let mut exported = ExportedJsonl::default();
    for chat in chats {
        let mut reader = ChatReader::open(store, chat).await?;
        while let Some(record) = reader.next().await? {
            cancel.check(OPERATION)?;
            exported.messages += u64::from(matches!(record, ChatRecord::Message(_)));
            let mut line = line::write(&record).map_err(|error| {
                Error::new(ErrorKind::Bug, OPERATION, "a chat has no JSON form").with_source(error)
            })?;
            line.push(b'\n');
            out.write_all(&line).map_err(|error| unavailable(OPERATION, "cannot write", error))?;
            progress(exported.messages);
        }
        exported.chats += 1;
    }
    out.flush().map_err(|error| unavailable(OPERATION, "cannot write", error))?;
    Ok(exported)
}

/// Whether a line begins a file of this form.
pub fn is_jsonl(first_line: &[u8]) -> bool {
    matches!(line::read(first_line, &UserId::from("")), Ok(ChatRecord::Chat(_)) | Err(LineError::Newer(_)))
}

/// Reads JSON Lines without keeping them: the first line that is broken is the error. What only shows when the
/// lines come together (a parent that is missing), [`import_jsonl`] finds.
pub fn check_jsonl(input: &mut (dyn BufRead + Send), cancel: &CancelSignal) -> Result<()> {
    let (mut line, mut number, user) = (Vec::new(), 0u64, UserId::from(""));
    while read_line(input, &mut line)? {
        cancel.check(OPERATION)?;
        number += 1;
        if !line.trim_ascii().is_empty() {
            line::read(&line, &user).map_err(|error| broken_line(number, &error.to_string()))?;
        }
    }
    Ok(())
}

fn broken_line(number: u64, text: &str) -> Error {
    Error::invalid(OPERATION, format!("a line is broken: {text}")).with("line", number)
}

/// Reads chats from JSON Lines into a store. Broken lines are reported and the good ones kept; with
/// [`strict`](ImportJsonl::strict) the first broken one takes back all that was written and is the error.
/// Cancelling takes back the chat that is not complete.
pub async fn import_jsonl(
    store: &dyn Store,
    input: &mut (dyn BufRead + Send),
    options: &ImportJsonl,
    cancel: &CancelSignal,
    progress: &mut (dyn FnMut(u64) + Send),
) -> Result<ImportedJsonl> {
    let mut import = Import {
        store,
        options,
        imported: ImportedJsonl::default(),
        open: None,
        messages: 0,
        nothing_kept: options.strict,
    };
    let result = import.run(input, cancel, progress).await;
    if result.is_err() {
        import.take_back().await?;
    }
    result.map(|()| import.imported)
}

struct Import<'a> {
    store: &'a dyn Store,
    options: &'a ImportJsonl,
    imported: ImportedJsonl,
    open: Option<Open<'a>>,
    messages: u64,
    /// Whether what is complete goes as well if the import fails.
    nothing_kept: bool,
}

/// The chat whose lines are being read.
struct Open<'a> {
    chat: ChatRef,
    /// Whether it is new.
    created: bool,
    /// Nothing if there is a chat of this name: its lines are passed over.
    writer: Option<ChatWriter<'a>>,
}

impl<'a> Import<'a> {
    async fn run(
        &mut self,
        input: &mut (dyn BufRead + Send),
        cancel: &CancelSignal,
        progress: &mut (dyn FnMut(u64) + Send),
    ) -> Result<()> {
        let mut line = Vec::new();
        let mut number = 0u64;
        while read_line(input, &mut line)? {
            cancel.check(OPERATION)?;
            number += 1;
            if line.trim_ascii().is_empty() {
                continue;
            }
            match line::read(&line, &self.options.user) {
                Ok(record) => self.take(record, number).await?,
                Err(error) => self.broken(number, &error)?,
            }
            progress(self.messages);
        }
        if self.open.is_some() {
            self.broken_text(number, "the file ends before its chat does")?;
            self.close().await?;
        }
        Ok(())
    }

    async fn take(&mut self, record: ChatRecord, number: u64) -> Result<()> {
        match record {
            ChatRecord::Chat(source) => {
                if self.open.is_some() {
                    self.broken_text(number, "a chat begins before the one before it has ended")?;
                    self.close().await?;
                }
                self.begin(&source).await
            }
            record => {
                let ends = matches!(record, ChatRecord::End { .. });
                self.messages += u64::from(matches!(record, ChatRecord::Message(_)));
                match &mut self.open {
                    None => self.broken_text(number, "it belongs to no chat")?,
                    Some(Open { writer: None, .. }) => {}
                    Some(Open { writer: Some(writer), .. }) => writer.push(record).await?,
                }
                if ends { self.close().await } else { Ok(()) }
            }
        }
    }

    async fn begin(&mut self, source: &Chat) -> Result<()> {
        let mut chat = source.chat.clone();
        if let Some(name) = &self.options.chat {
            if !self.imported.chats.is_empty() {
                self.nothing_kept = true;
                let error = Error::invalid(OPERATION, "one name was given, but the file has several chats");
                return Err(error.with("chat", name));
            }
            chat.chat = name.clone();
        }
        let writer = ChatWriter::create(self.store, chat.clone(), source).await?;
        self.open = Some(Open { chat, created: writer.is_some(), writer });
        Ok(())
    }

    async fn close(&mut self) -> Result<()> {
        let Some(Open { chat, writer, .. }) = self.open.take() else { return Ok(()) };
        let written = match writer {
            None => None,
            Some(writer) => {
                // Until it is in the list, it is what is taken back.
                self.open = Some(Open { chat: chat.clone(), created: true, writer: None });
                Some(writer.finish().await?)
            }
        };
        self.open = None;
        let first = written.as_ref().and_then(|written| written.diagnostics.first()).cloned();
        self.imported.chats.push(ImportedChat { chat, written });
        match first {
            Some(note) if self.options.strict => {
                Err(Error::invalid(OPERATION, note.message).with("at", note.path))
            }
            _ => Ok(()),
        }
    }

    fn broken(&mut self, number: u64, error: &LineError) -> Result<()> {
        self.broken_text(number, &error.to_string())
    }

    fn broken_text(&mut self, number: u64, text: &str) -> Result<()> {
        if self.options.strict {
            return Err(broken_line(number, text));
        }
        let path = format!("line {number}");
        let diagnostic = Diagnostic::new(DiagnosticCode::BrokenInput, Severity::Warning, path, text);
        self.imported.broken.push(BrokenLine { line: number, diagnostic });
        Ok(())
    }

    /// Deletes the chat that is not complete and, if nothing is to be kept, the complete ones.
    async fn take_back(&mut self) -> Result<()> {
        let history = self.store.history();
        if let Some(open) = self.open.take()
            && open.created
        {
            history.delete_chat(&open.chat, None).await?;
        }
        if self.nothing_kept {
            for chat in self.imported.chats.iter().filter(|chat| chat.written.is_some()) {
                history.delete_chat(&chat.chat, None).await?;
            }
        }
        Ok(())
    }
}

const OPERATION: &str = "import_jsonl";

fn unavailable(operation: &'static str, what: &'static str, error: std::io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, operation, what).with_source(error)
}

/// Reads the next line; false at the end.
fn read_line(input: &mut (dyn BufRead + Send), line: &mut Vec<u8>) -> Result<bool> {
    line.clear();
    let read = std::io::Read::take(input, MAX_LINE).read_until(b'\n', line);
    let read = read.map_err(|error| unavailable(OPERATION, "cannot read", error))?;
    if read as u64 == MAX_LINE && !line.ends_with(b"\n") {
        return Err(Error::invalid(OPERATION, "a line is too long").with("limit", MAX_LINE));
    }
    Ok(read > 0)
}
