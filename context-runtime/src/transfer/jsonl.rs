//! Import and export of JSON Lines files: the library's own lossless format.

use std::io::{BufRead, Seek, Write};

use context_core::{CancelSignal, ChatId, ChatRef, Error, ErrorKind, Result, Store, UserId};

use super::check::check_bodies;
use super::line::{self, LineError, MAX_LINE, OPERATION, unavailable};
use super::reader::ChatReader;
use super::record::ChatRecord;
use super::sections::{BrokenLine, Section, Sections};
use super::writer::{ChatWriter, WrittenChat};

/// The result of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExportedJsonl {
    /// The number of chats.
    pub chats: u64,
    /// The number of messages, on all branches.
    pub messages: u64,
}

/// Options of an import.
#[derive(Clone, Debug)]
pub struct ImportJsonl {
    /// The user who will own the chats.
    pub user: UserId,
    /// The new name of the chat of a file with one chat. `None` keeps the name.
    pub chat: Option<ChatId>,
    /// Whether nothing is written if any line of the file is broken.
    pub strict: bool,
}

impl ImportJsonl {
    /// Returns options that import the sound chats under their own names.
    pub fn new(user: impl Into<UserId>) -> Self {
        Self { user: user.into(), chat: None, strict: false }
    }
}

/// A chat of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImportedChat {
    /// The chat.
    pub chat: ChatRef,
    /// The outcome of its import.
    pub outcome: ChatOutcome,
}

impl ImportedChat {
    /// Returns what was written, if the chat was written.
    pub fn written(&self) -> Option<&WrittenChat> {
        match &self.outcome {
            ChatOutcome::Written(written) => Some(written),
            _ => None,
        }
    }
}

/// The outcome of importing a chat of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChatOutcome {
    /// The chat was written.
    Written(WrittenChat),
    /// A chat of this name exists and was left unchanged.
    Exists,
    /// Some of its lines are broken, listed in [`ImportedJsonl::broken`]. Nothing of the chat was
    /// written.
    Refused,
}

/// The result of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub struct ImportedJsonl {
    /// The chats of the file, in order.
    pub chats: Vec<ImportedChat>,
    /// Lines that cannot be read, or that do not fit the other lines of their chat: the first ten
    /// thousand of them.
    pub broken: Vec<BrokenLine>,
    /// The number of further broken lines.
    pub unlisted: u64,
}

/// Writes chats as JSON Lines. Calls `progress` with the number of messages written so far. Checks
/// `cancel` between records.
///
/// Returns [`ErrorKind::Corrupt`] at the first message with an unreadable body, which no import
/// would accept.
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
///     import_jsonl(&*elsewhere, &mut std::io::Cursor::new(&file), &ImportJsonl::new("bob"), &never, &mut |_| ()).await?;
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
    export(store, chats, out, cancel, progress, true).await
}

/// Writes chats as [`export_jsonl`] does, but includes unreadable bodies as text or base64, to save
/// the rest of a damaged chat. An import refuses such a chat.
pub async fn export_jsonl_as_is(
    store: &dyn Store,
    chats: &[ChatRef],
    out: &mut (dyn Write + Send),
    cancel: &CancelSignal,
    progress: &mut (dyn FnMut(u64) + Send),
) -> Result<ExportedJsonl> {
    export(store, chats, out, cancel, progress, false).await
}

async fn export(
    store: &dyn Store,
    chats: &[ChatRef],
    out: &mut (dyn Write + Send),
    cancel: &CancelSignal,
    progress: &mut (dyn FnMut(u64) + Send),
    readable: bool,
) -> Result<ExportedJsonl> {
    const OPERATION: &str = "export_jsonl";
    let mut exported = ExportedJsonl::default();
    for chat in chats {
        let mut reader = ChatReader::open(store, chat).await?;
        while let Some(record) = reader.next().await? {
            cancel.check(OPERATION)?;
            if let (true, ChatRecord::Message(message)) = (readable, &record) {
                check_bodies(message).map_err(|unsound| {
                    let error = Error::new(ErrorKind::Corrupt, OPERATION, unsound.to_string());
                    error.with("chat", &chat.chat).with("message", &message.node.id)
                })?;
            }
            exported.messages += u64::from(matches!(record, ChatRecord::Message(_)));
            let mut line = line::write(&record).map_err(|error| {
                Error::new(ErrorKind::Bug, OPERATION, "a chat has no JSON form").with_source(error)
            })?;
            line.push(b'\n');
            if line.len() as u64 > MAX_LINE {
                // A longer line could not be read back.
                let error =
                    Error::invalid(OPERATION, "a record of the chat is longer than a line may be");
                return Err(error.with("chat", &chat.chat).with("limit", MAX_LINE));
            }
            out.write_all(&line).map_err(|error| unavailable(OPERATION, "cannot write", error))?;
            progress(exported.messages);
        }
        exported.chats += 1;
    }
    out.flush().map_err(|error| unavailable(OPERATION, "cannot write", error))?;
    Ok(exported)
}

/// Whether a line begins a file of this format.
pub fn is_jsonl(first_line: &[u8]) -> bool {
    matches!(
        line::read(first_line, &UserId::from("")),
        Ok(ChatRecord::Chat(_)) | Err(LineError::Newer(_))
    )
}

/// Checks JSON Lines without storing them. Returns an error for the first line that is broken or
/// does not fit the other lines of its chat. [Reports](CancelSignal::report) the bytes that are
/// checked to `cancel`.
pub fn check_jsonl(input: &mut (impl BufRead + Seek), cancel: &CancelSignal) -> Result<()> {
    let mut sections = Sections::new(input, UserId::from(""), cancel, false)?;
    loop {
        let section = sections.next()?;
        if let Some(first) = sections.broken.first() {
            return Err(broken_line(first));
        }
        if section.is_none() {
            return Ok(());
        }
    }
}

fn broken_line(broken: &BrokenLine) -> Error {
    Error::invalid(OPERATION, format!("a line is broken: {}", broken.diagnostic.message))
        .with("line", broken.line)
}

/// Reads chats from JSON Lines into a store. Each chat is read twice: the first pass checks that
/// its lines are readable, within the limits and make a sound chat, and the second one writes it.
/// So a chat with any broken line is refused before any of it is written, and the others are
/// imported. With [`strict`](ImportJsonl::strict) the whole file is checked first, and the first
/// broken line is returned as the error. Cancelling removes the chat that is incomplete. Calls
/// `progress` with the number of messages written so far, and [reports](CancelSignal::report) the
/// bytes that are done to `cancel`: a part of those of a chat when it is checked, and all when it
/// is written or left as it is.
///
/// Memory use is limited to one line, the messages of one commit and the ids of one chat, however
/// long the file is.
pub async fn import_jsonl<R: BufRead + Seek + Send>(
    store: &dyn Store,
    input: &mut R,
    options: &ImportJsonl,
    cancel: &CancelSignal,
    progress: &mut (dyn FnMut(u64) + Send),
) -> Result<ImportedJsonl> {
    let failed = |error| unavailable(OPERATION, "cannot read", error);
    if options.strict {
        let start = input.stream_position().map_err(failed)?;
        // Bytes that are reported twice would tell nobody how far the work is.
        check_jsonl(input, &cancel.clone().reporting(|_, _| {}))?;
        input.seek(std::io::SeekFrom::Start(start)).map_err(failed)?;
    }
    let mut sections = Sections::new(input, options.user.clone(), cancel, true)?;
    let (mut imported, mut before) = (ImportedJsonl::default(), 0);
    while let Some(section) = sections.next()? {
        let mut chat = section.source.chat.clone();
        if let Some(name) = &options.chat {
            if sections.has_another()? {
                let error =
                    Error::invalid(OPERATION, "one name was given, but the file has several chats");
                return Err(error.with("chat", name));
            }
            chat.chat = name.clone();
        }
        let outcome = match section.sound {
            false => ChatOutcome::Refused,
            true => {
                let mut progress = |messages| progress(before + messages);
                write(store, &mut sections, &section, &chat, &mut progress).await?
            }
        };
        if let ChatOutcome::Written(written) = &outcome {
            before += written.messages;
        }
        imported.chats.push(ImportedChat { chat, outcome });
    }
    imported.unlisted = sections.faults - sections.broken.len() as u64;
    imported.broken = sections.broken;
    Ok(imported)
}

/// Writes a chat that was found to be sound.
async fn write<R: BufRead + Seek + Send>(
    store: &dyn Store,
    sections: &mut Sections<'_, R>,
    section: &Section,
    chat: &ChatRef,
    progress: &mut (dyn FnMut(u64) + Send),
) -> Result<ChatOutcome> {
    let Some(mut writer) = ChatWriter::create(store, chat.clone(), &section.source).await? else {
        return Ok(ChatOutcome::Exists);
    };
    let written = async {
        sections.seek(section)?;
        loop {
            let record = sections.record()?;
            let ends = matches!(record, ChatRecord::End { .. });
            writer.push(record).await?;
            progress(writer.messages());
            if ends {
                return writer.finish().await;
            }
        }
    };
    match written.await {
        Ok(written) => Ok(ChatOutcome::Written(written)),
        Err(error) => {
            store.history().delete_chat(chat, None).await?;
            Err(error)
        }
    }
}
