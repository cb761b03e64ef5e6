//! Chats that move to another store, one by one, so that what is interrupted goes on.

use context_core::{ChatRef, Error, ErrorKind, Result, Store};

use super::digest::ChatDigest;
use super::reader::ChatReader;
use super::record::ChatRecord;
use super::writer::{ChatWriter, INCOMPLETE, WrittenChat};

const OPERATION: &str = "migrate_chat";

/// How a chat is migrated.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct MigrateChat {
    /// Whether a copy is read back and compared with what was sent, and a chat that is there is
    /// compared in full. Otherwise one that is there is compared by all but its messages and blobs.
    pub verify: bool,
    /// Whether nothing is written.
    pub dry_run: bool,
}

impl Default for MigrateChat {
    /// Writes, and verifies what it has written.
    fn default() -> Self {
        Self { verify: true, dry_run: false }
    }
}

impl MigrateChat {
    /// Believes what the other store says.
    #[must_use]
    pub fn without_verifying(mut self) -> Self {
        self.verify = false;
        self
    }

    /// Only says what would be done.
    #[must_use]
    pub fn dry_run(mut self) -> Self {
        self.dry_run = true;
        self
    }
}

/// What became of migrating a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub enum Migrated {
    /// It was written: what was sent, and what came of it.
    Copied(Box<ChatDigest>, WrittenChat),
    /// It would have been written, but for the dry run.
    Missing,
    /// It is there, and the same.
    Unchanged,
    /// There is another of its name, which was not touched; this part of them differs first.
    Different(&'static str),
    /// It is not complete itself: somebody has begun to write it and not come to the end.
    Unfinished,
}

/// Brings a chat to another store, unless it is there. Safe to repeat: what an earlier try has left
/// without finishing it is deleted and begun again. `progress` is told how many messages were sent
/// so far.
///
/// Verifying reads the copy back. If it is not what was sent, it is deleted, unless somebody has
/// written to it since, and the error is [`ErrorKind::Corrupt`] with the `part` that differs.
pub async fn migrate_chat(
    from: &dyn Store,
    chat: &ChatRef,
    to: &dyn Store,
    new: &ChatRef,
    options: &MigrateChat,
    progress: &mut (dyn FnMut(u64) + Send),
) -> Result<Migrated> {
    let source = from.history().chat(chat).await?;
    let source = source.ok_or_else(|| Error::not_found(OPERATION, "chat", &chat.chat))?;
    if source.metadata.get(INCOMPLETE).is_some() {
        return Ok(Migrated::Unfinished);
    }
    match to.history().chat(new).await? {
        Some(there) if there.metadata.get(INCOMPLETE).is_none() => {
            let (ours, theirs) = match options.verify {
                true => (ChatDigest::read(from, chat).await?, ChatDigest::read(to, new).await?),
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
        return Err(Error::new(ErrorKind::Bug, OPERATION, "a chat does not begin with itself"));
    };
    let writer = ChatWriter::create(to, new.clone(), &source).await?;
    let writer = writer.ok_or_else(|| {
        let error = Error::new(
            ErrorKind::Conflict,
            OPERATION,
            "somebody else has created the chat meanwhile",
        );
        error.with("chat", &new.chat)
    })?;
    let written = match send(reader, writer, &mut sent, progress).await {
        Ok(written) => written,
        Err(error) => {
            // If this fails as well, the mark stays, and the next try begins again.
            let _deleted = to.history().delete_chat(new, None).await;
            return Err(error);
        }
    };
    if options.verify {
        let stored = ChatDigest::read(to, new).await?;
        if let Some(part) = sent.difference(&stored) {
            to.history().delete_chat(new, Some(source.updated_at)).await?;
            let error = Error::new(
                ErrorKind::Corrupt,
                OPERATION,
                "what was read back is not what was sent",
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
    progress: &mut (dyn FnMut(u64) + Send),
) -> Result<WrittenChat> {
    while let Some(record) = reader.next().await? {
        sent.push(&record);
        writer.push(record).await?;
        progress(sent.messages.count);
    }
    writer.finish().await
}
