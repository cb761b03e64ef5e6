//! The chats that are written, and a check of what is left of them.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use context_core::store::{ChainEnd, Commit, CommitOutcome, Durability, NewChat, Target, Window};
use context_core::{
    CancelSignal, ChatRef, ErrorKind, Message, MessageId, Node, Role, Store, Timestamp,
};
use context_store_sqlite::{SqliteConfig, SqliteStore};

const T: Timestamp = Timestamp::from_micros(1_000_000);
/// The name of the file.
pub(crate) const FILE: &str = "s.db";

pub(crate) type Tried<T> = Result<T, Box<dyn Error + Send + Sync>>;

pub(crate) async fn open(folder: &Path, durability: Durability) -> Tried<SqliteStore> {
    let config = SqliteConfig::new(folder.join(FILE)).durability(durability).readers(1);
    Ok(SqliteStore::open(config).await?)
}

pub(crate) fn chat(user: &str, number: usize) -> ChatRef {
    ChatRef::new(user, format!("chat-{number}"))
}

pub(crate) async fn create(store: &dyn Store, chat: &ChatRef) -> Tried<()> {
    let _ = store.history().create_chat(NewChat::new(chat.clone(), T)).await?;
    Ok(())
}

/// Returns the text of a message: some are longer than a page.
pub(crate) fn text(chat: &ChatRef, n: usize) -> String {
    let words = format!("{} of {} of {}; ", n, chat.chat, chat.user);
    words.repeat(if n % 5 == 3 { 400 } else { 3 })
}

/// Appends message `n` to a chat that has `n` messages.
pub(crate) async fn append(
    store: &dyn Store,
    chat: &ChatRef,
    n: usize,
    durability: Option<Durability>,
) -> Tried<()> {
    let expected = n.checked_sub(1).map(|last| MessageId::from(format!("m{last}")));
    let target = Target::Extend { branch: "main".into(), expected };
    let message = Message::text(Role::User, text(chat, n));
    let node = Arc::new(Node::new(format!("m{n}"), message, T));
    let commit = Commit { nodes: vec![node], durability, ..Commit::new(chat.clone(), target, T) };
    match store.history().commit(commit).await? {
        CommitOutcome::Applied(_) => Ok(()),
        other => Err(format!("message {n} of {}: {other:?}", chat.chat).into()),
    }
}

/// Opens what is left of a store, first for reading only. Returns `None` if no file is left.
pub(crate) async fn reopen(file: &Path) -> Tried<Option<SqliteStore>> {
    if !file.exists() {
        return Ok(None);
    }
    let reader = SqliteStore::open(SqliteConfig::new(file).read_only(true).readers(1)).await?;
    let first = lengths(&reader, "ada").await?;
    reader.close().await?;
    let store = SqliteStore::open(SqliteConfig::new(file).create(false).readers(1)).await?;
    let report = store.maintenance().ok_or("no maintenance")?.check(&CancelSignal::never()).await?;
    if let Some(finding) = report.findings.first() {
        return Err(format!("verify: {finding}").into());
    }
    let second = lengths(&store, "ada").await?;
    if first != second {
        return Err(format!("a reader saw {first:?}, a writer {second:?}").into());
    }
    Ok(Some(store))
}

/// Returns the number of messages of each chat of a user, in the order of the chats' numbers, up to
/// the first chat that is missing. Checks the content of the messages.
pub(crate) async fn lengths(store: &SqliteStore, user: &str) -> Tried<Vec<usize>> {
    let mut lengths = Vec::new();
    loop {
        let chat = chat(user, lengths.len());
        let end = ChainEnd::Branch("main".into());
        let chain = match store.history().chain(&chat, &end, &Window::Whole).await {
            Ok(chain) => chain,
            Err(error) if error.kind() == ErrorKind::NotFound => break,
            Err(error) => return Err(error.into()),
        };
        for (n, node) in chain.iter().enumerate() {
            let same = node.id.as_str() == format!("m{n}")
                && **node.message()? == Message::text(Role::User, text(&chat, n));
            if !same {
                return Err(format!("message {n} of {} has changed", chat.chat).into());
            }
        }
        lengths.push(chain.len());
    }
    Ok(lengths)
}

/// Checks that a store can be written to.
pub(crate) async fn is_usable(store: &SqliteStore) -> Tried<()> {
    let chat = ChatRef::new("later", "chat");
    create(store, &chat).await?;
    append(store, &chat, 0, Some(Durability::PowerLoss)).await
}
