//! Copying between stores.

use context_core::{CancelSignal, ChatRef, Error, Result, Store};

use super::reader::ChatReader;
use super::record::ChatRecord;
use super::writer::{ChatWriter, WrittenChat};
use crate::workspace::without_records;

/// Copies a chat with its whole graph, within a store or to another one. Checks `cancel` between
/// pages and [reports](CancelSignal::report) the messages to it. A copy that is cancelled or fails
/// is deleted. Snapshots of a [workspace](crate::workspace) stay those of the first chat alone.
///
/// Returns [`ErrorKind::Invalid`](context_core::ErrorKind::Invalid) if the new chat exists.
///
/// ```
/// use context_runtime::{CancelSignal, ChatRef, ContextEngine, transfer::copy_chat, user};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = context_runtime::open("mem:").await?;
/// let mut chat = ContextEngine::builder(store.clone()).user("ada").chat("lisbon").open().await?;
/// chat.set([user("A train?")]).save().await?;
/// let template = ChatRef::new("bob", "lisbon");
/// let copied = copy_chat(&*store, chat.chat_ref(), &*store, &template, &CancelSignal::never()).await?;
/// assert_eq!(copied.messages, 1);
/// # Ok(())
/// # }
/// ```
pub async fn copy_chat(
    from: &dyn Store,
    chat: &ChatRef,
    to: &dyn Store,
    new: &ChatRef,
    cancel: &CancelSignal,
) -> Result<WrittenChat> {
    const OPERATION: &str = "copy_chat";
    let mut reader = ChatReader::open(from, chat).await?;
    let Some(ChatRecord::Chat(mut source)) = reader.next().await? else {
        return Err(Error::not_found(OPERATION, "chat", &chat.chat));
    };
    source.metadata = without_records(&source.metadata);
    let writer = ChatWriter::create(to, new.clone(), &source).await?;
    let writer = writer.ok_or_else(|| {
        Error::invalid(OPERATION, "there is a chat of this name").with("chat", &new.chat)
    })?;
    let copied = pipe(reader, writer, cancel).await;
    if copied.is_err() {
        to.history().delete_chat(new, None).await?;
    }
    copied
}

async fn pipe(
    mut reader: ChatReader<'_>,
    mut writer: ChatWriter<'_>,
    cancel: &CancelSignal,
) -> Result<WrittenChat> {
    while let Some(record) = reader.next().await? {
        cancel.check("copy_chat")?;
        writer.push(record).await?;
        cancel.report("message", writer.messages());
    }
    writer.finish().await
}
