//! Reading a chat from a store.

use std::collections::VecDeque;

use context_core::base::limits;
use context_core::store::{Blob, Cursor, PageWalk};
use context_core::{ChatRef, Error, Result, Store};

use super::record::{BlobRecord, ChatMessageRecord, ChatRecord};

/// Reads a chat record by record.
pub struct ChatReader<'a> {
    store: &'a dyn Store,
    chat: ChatRef,
    ready: VecDeque<ChatRecord>,
    /// The metadata of blobs that are still to be read.
    blobs: VecDeque<Blob>,
    messages: u64,
    next: ReadState,
    /// Checks the paging of the blobs, then of the messages.
    walk: PageWalk,
}

enum ReadState {
    Blobs(Option<Cursor>),
    Page(Option<Cursor>),
    End,
    Nothing,
}

impl<'a> ChatReader<'a> {
    /// Opens a chat, which must exist.
    pub async fn open(store: &'a dyn Store, chat: &ChatRef) -> Result<Self> {
        let history = store.history();
        let found = history.chat(chat).await?;
        let found = found.ok_or_else(|| Error::not_found("read_chat", "chat", &chat.chat))?;
        let mut ready = VecDeque::from([ChatRecord::Chat(found)]);
        ready.extend(history.branches(chat).await?.into_iter().map(ChatRecord::Branch));
        ready.extend(history.checkpoints(chat).await?.into_iter().map(ChatRecord::Checkpoint));
        ready
            .extend(store.fragments().fragments(chat).await?.into_iter().map(ChatRecord::Fragment));
        let (chat, blobs, next) = (chat.clone(), VecDeque::new(), ReadState::Blobs(None));
        let walk = PageWalk::new("blobs", "blob");
        Ok(Self { store, chat, ready, blobs, messages: 0, next, walk })
    }

    /// Returns the next record, or `None` after the end.
    pub async fn next(&mut self) -> Result<Option<ChatRecord>> {
        while self.ready.is_empty() {
            if let Some(blob) = self.blobs.pop_front() {
                self.read_blob(blob).await?;
                continue;
            }
            match &self.next {
                ReadState::Blobs(after) => {
                    let after = after.clone();
                    self.list_blobs(after).await?;
                }
                ReadState::Nothing => return Ok(None),
                ReadState::End => {
                    self.next = ReadState::Nothing;
                    self.ready.push_back(ChatRecord::End { messages: self.messages });
                }
                ReadState::Page(after) => {
                    let after = after.clone();
                    self.read_page(after).await?;
                }
            }
        }
        Ok(self.ready.pop_front())
    }

    /// Returns the next record that is neither a blob nor a message nor the end.
    pub(super) fn next_of_outline(&mut self) -> Option<ChatRecord> {
        self.ready.pop_front()
    }

    async fn list_blobs(&mut self, after: Option<Cursor>) -> Result<()> {
        let mut next = None;
        if let Some(blobs) = self.store.blobs() {
            let page = blobs.blobs(&self.chat, limits::MAX_PAGE, after.as_ref()).await?;
            next = self.walk.next(&page)?;
            self.blobs = page.items.into();
        }
        self.next = match next {
            Some(next) => ReadState::Blobs(Some(next)),
            None => {
                self.walk = PageWalk::new("all_messages", "message");
                ReadState::Page(None)
            }
        };
        Ok(())
    }

    /// One at a time, since each may be large.
    async fn read_blob(&mut self, blob: Blob) -> Result<()> {
        let Some(blobs) = self.store.blobs() else { return Ok(()) };
        // `None` if the blob was removed since it was listed.
        if let Some(bytes) = blobs.read_blob(&self.chat, &blob.id, 0..blob.bytes, None).await? {
            let record = BlobRecord::new(bytes, blob.media_type, blob.created_at, blob.used_at);
            self.ready.push_back(ChatRecord::Blob(record));
        }
        Ok(())
    }

    async fn read_page(&mut self, after: Option<Cursor>) -> Result<()> {
        let history = self.store.history();
        let page = history.all_messages(&self.chat, limits::MAX_PAGE, after.as_ref()).await?;
        let next = self.walk.next(&page)?;
        self.messages += page.items.len() as u64;
        for placed in page.items {
            let revisions = match placed.node.revision {
                0 => Vec::new(),
                _ => history.revisions(&self.chat, &placed.node.id).await?,
            };
            self.ready.push_back(ChatRecord::Message(ChatMessageRecord::new(
                placed.node,
                placed.parent,
                revisions,
            )));
        }
        self.next = next.map_or(ReadState::End, |next| ReadState::Page(Some(next)));
        Ok(())
    }
}
