//! Out of a store.

use std::collections::VecDeque;

use context_core::{ChatRef, Cursor, Error, Result, Store, limits};

use super::record::{ChatRecord, MessageRecord};

/// Reads a chat piece by piece.
pub struct ChatReader<'a> {
    store: &'a dyn Store,
    chat: ChatRef,
    ready: VecDeque<ChatRecord>,
    messages: u64,
    next: Next,
}

enum Next {
    Page(Option<Cursor>),
    End,
    Nothing,
}

impl<'a> ChatReader<'a> {
    /// Begins with a chat, which must exist.
    pub async fn open(store: &'a dyn Store, chat: &ChatRef) -> Result<Self> {
        let history = store.history();
        let found = history.chat(chat).await?;
        let found = found.ok_or_else(|| Error::not_found("read_chat", "chat", &chat.chat))?;
        let mut ready = VecDeque::from([ChatRecord::Chat(found)]);
        ready.extend(history.branches(chat).await?.into_iter().map(ChatRecord::Branch));
        ready.extend(history.checkpoints(chat).await?.into_iter().map(ChatRecord::Checkpoint));
        ready.extend(store.fragments().fragments(chat).await?.into_iter().map(ChatRecord::Fragment));
        Ok(Self { store, chat: chat.clone(), ready, messages: 0, next: Next::Page(None) })
    }

    /// The next piece; nothing behind the end.
    pub async fn next(&mut self) -> Result<Option<ChatRecord>> {
        while self.ready.is_empty() {
            match &self.next {
                Next::Nothing => return Ok(None),
                Next::End => {
                    self.next = Next::Nothing;
                    self.ready.push_back(ChatRecord::End { messages: self.messages });
                }
                Next::Page(after) => {
                    let after = after.clone();
                    self.read_page(after).await?;
                }
            }
        }
        Ok(self.ready.pop_front())
    }

    async fn read_page(&mut self, after: Option<Cursor>) -> Result<()> {
        let history = self.store.history();
        let page = history.all_messages(&self.chat, limits::MAX_PAGE, after.as_ref()).await?;
        self.messages += page.items.len() as u64;
        for placed in page.items {
            let revisions = match placed.node.revision {
                0 => Vec::new(),
                _ => history.revisions(&self.chat, &placed.node.id).await?,
            };
            self.ready.push_back(ChatRecord::Message(MessageRecord::new(
                placed.node,
                placed.parent,
                revisions,
            )));
        }
        self.next = page.next.map_or(Next::End, |next| Next::Page(Some(next)));
        Ok(())
    }
}
