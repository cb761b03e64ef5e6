//! Migration of chats to another store, one by one, so that an interrupted migration can be
//! resumed.

use context_core::{ChatRef, Error, ErrorKind, Result, Store};

use super::digest::ChatDigest;
use super::reader::ChatReader;
use super::record::ChatRecord;
use super::writer::{ChatWriter, INCOMPLETE, WrittenChat};

const OPERATION: &str = "migrate_chat";

/// Options of a migration.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct MigrateChat {
    /// Whether a copy is read back and compared with what was sent, and whether an existing chat is
    /// compared in full. Otherwise an existing chat is compared without its messages and blobs.
    pub verify: bool,
    /// Whether nothing is written.
    pub dry_run: bool,
}

impl Default for MigrateChat {
    /// Returns options that write and verify.
    fn default() -> Self {
        Self { verify: true, dry_run: false }
    }
}

impl MigrateChat {
    /// Turns verification off and trusts the other store.
    #[must_use]
    pub fn without_verifying(mut self) -> Self {
        self.verify = false;
        self
    }

    /// Only reports what would be done.
    #[must_use]
    pub fn dry_run(mut self) -> Self {
        self.dry_run = true;
        self
    }
}

/// The work on a chat that [`migrate_chat`] is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MigratePhase {
    /// The chat exists: both are read, one after the other.
    Comparing,
    /// The chat is read and written.
    Sending,
    /// The copy is read.
    ReadingBack,
}

/// The outcome of migrating a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub enum Migrated {
    /// The chat was written: the digest of what was sent, and the result.
    Copied(Box<ChatDigest>, WrittenChat),
    /// The chat would have been written, but this is a dry run.
    Missing,
    /// The chat exists and is the same.
    Unchanged,
    /// Another chat of this name exists and was not changed. Names the first part that differs.
    Different(&'static str),
    /// The source itself is incomplete: somebody began to write it and did not finish.
    Unfinished,
}

/// Copies a chat to another store, unless it exists there. Idempotent: an incomplete copy of an
/// earlier attempt is deleted and written again. Calls `progress` with the number of messages read
/// so far in a phase.
///
/// Verification reads the copy back. If it differs from what was sent, the copy is deleted, unless
/// another writer has changed it since, and the error is [`ErrorKind::Corrupt`] with the `part`
/// that differs.
pub async fn migrate_chat(
    from: &dyn Store,
    chat: &ChatRef,
    to: &dyn Store,
    new: &ChatRef,
    options: &MigrateChat,
    progress: &mut (dyn FnMut(MigratePhase, u64) + Send),
) -> Result<Migrated> {
    let source = from.history().chat(chat).await?;
    let source = source.ok_or_else(|| Error::not_found(OPERATION, "chat", &chat.chat))?;
    if source.metadata.get(INCOMPLETE).is_some() {
        return Ok(Migrated::Unfinished);
    }
    match to.history().chat(new).await? {
        Some(there) if there.metadata.get(INCOMPLETE).is_none() => {
            let (ours, theirs) = match options.verify {
                true => {
                    let mut read = |messages| progress(MigratePhase::Comparing, messages);
                    let ours = ChatDigest::read_telling(from, chat, &mut read).await?;
                    let mut read = |messages| read(ours.messages.count + messages);
                    (ours, ChatDigest::read_telling(to, new, &mut read).await?)
                }
                false => (
                    ChatDigest::read_outline(from, chat).await?,
                    ChatDigest::read_outline(to, new).await?,
                ),
            };
            return Ok(ours.difference(&theirs).map_or(Migrated::Unchanged, Migrated::Different));
        }
        _ if options.dry_run => return Ok(Migrated::Missing),
        _ => {}
    }
    let mut reader = ChatReader::open(from, chat).await?;
    let mut sent = ChatDigest::default();
    let Some(first) = reader.next().await? else {
        return Err(Error::not_found(OPERATION, "chat", &chat.chat));
    };
    sent.push(&first);
    let ChatRecord::Chat(source) = first else {
        return Err(Error::new(
            ErrorKind::Bug,
            OPERATION,
            "the record of a chat does not come first",
        ));
    };
    let writer = ChatWriter::create(to, new.clone(), &source).await?;
    let writer = writer.ok_or_else(|| {
        let error =
            Error::new(ErrorKind::Conflict, OPERATION, "another writer created the chat meanwhile");
        error.with("chat", &new.chat)
    })?;
    let written = match send(reader, writer, &mut sent, progress).await {
        Ok(written) => written,
        Err(error) => {
            // The chat stays marked as incomplete if this fails as well, and the next attempt
            // starts again.
            let _deleted = to.history().delete_chat(new, None).await;
            return Err(error);
        }
    };
    if options.verify {
        let mut read = |messages| progress(MigratePhase::ReadingBack, messages);
        let stored = ChatDigest::read_telling(to, new, &mut read).await?;
        if let Some(part) = sent.difference(&stored) {
            to.history().delete_chat(new, Some(source.updated_at)).await?;
            let error = Error::new(
                ErrorKind::Corrupt,
                OPERATION,
                "the copy that was read back differs from the source",
            );
            let note = written.diagnostics.first().map(ToString::to_string);
            let error = error.with("chat", &new.chat).with("part", part);
            return Err(note.into_iter().fold(error, |error, note| error.with("note", note)));
        }
    }
    Ok(Migrated::Copied(Box::new(sent), written))
}

async fn send(
    mut reader: ChatReader<'_>,
    mut writer: ChatWriter<'_>,
    sent: &mut ChatDigest,
    progress: &mut (dyn FnMut(MigratePhase, u64) + Send),
) -> Result<WrittenChat> {
    while let Some(record) = reader.next().await? {
        sent.push(&record);
        writer.push(record).await?;
        progress(MigratePhase::Sending, sent.messages.count);
    }
    writer.finish().await
}
