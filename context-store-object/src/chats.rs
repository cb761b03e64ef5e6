//! Chats: their existence, which blobs depend on, and nothing else of them.
//!
//! A chat has a *life*, a random number that a later chat of the same name does not have.
//! References name the life that they belong to, so none of a deleted chat is ever taken for one of
//! its successor, whatever a slow writer does.

use context_core::base::limits;
use context_core::store::{Chat, ChatQuery, ChatSummary, Created, NewChat, Page};
use context_core::{ChatRef, Error, ErrorKind, Json, Result};
use context_store_kit::ChatState;
use futures_util::FutureExt as _;
use serde_json::Value;

use crate::bucket::all;
use crate::keys::Nonce;
use crate::objects::Objects;
use crate::record::{ChatRecord, open, seal};
use crate::user_keys::{ChatKeys, UserKeys};

/// The number of attempts to create a chat that others create and delete.
const ATTEMPTS: usize = 10;

/// Returns the folders of the metadata entries of a chat.
fn tags(keys: &ChatKeys, chat: &Chat) -> Vec<String> {
    let entries = chat.metadata.iter();
    entries.map(|(key, value)| keys.user.tagged(key, &canonical(value))).collect()
}

/// Returns the text of a JSON value, the same for equal values.
fn canonical(value: &Json) -> String {
    value.parse::<Value>().map_or_else(|_| value.as_str().to_owned(), |value| value.to_string())
}

impl Objects {
    /// Returns a chat as it is stored.
    pub(crate) async fn chat_record(
        &self,
        operation: &'static str,
        key: &str,
    ) -> Result<Option<ChatRecord>> {
        let bytes = self.bucket.get(operation, key).await?;
        bytes.map(|bytes| open(operation, key, &bytes)).transpose()
    }

    /// Returns the life of a chat, or `None` if it does not exist.
    pub(crate) async fn life(
        &self,
        operation: &'static str,
        keys: &ChatKeys,
    ) -> Result<Option<Nonce>> {
        let key = keys.own();
        let record = self.chat_record(operation, &key).await?;
        record
            .filter(|record| !record.deleted)
            .map(|record| record.life(operation, &key))
            .transpose()
    }

    pub(crate) async fn find_chat(&self, chat: &ChatRef) -> Result<Option<Chat>> {
        limits::check_chat("chat", chat)?;
        let record = self.chat_record("chat", &ChatKeys::new(chat).own()).await?;
        Ok(record.filter(|record| !record.deleted).map(|record| record.chat))
    }

    /// Creates a chat: first the entries by which a listing finds it, then the chat.
    pub(crate) async fn create(&self, new: NewChat) -> Result<Created> {
        const OPERATION: &str = "create_chat";
        new.check()?;
        self.check_writable(OPERATION)?;
        let chat = Chat::new(new);
        let keys = ChatKeys::new(&chat.chat);
        let key = keys.own();
        for _ in 0..ATTEMPTS {
            match self.chat_record(OPERATION, &key).await? {
                // Only a deletion may finish a deletion: this call could come so late that it
                // would remove a chat that another call has created since.
                Some(record) if record.deleted => break,
                Some(record) => return Ok(Created::Existing(record.chat)),
                None => {}
            }
            for tag in tags(&keys, &chat) {
                self.bucket.put(OPERATION, &format!("{tag}/{}", keys.chat), "").await?;
            }
            let life = Nonce::new(OPERATION)?;
            let sealed = seal(OPERATION, &key, &ChatRecord::new(life, chat.clone()))?;
            if self.bucket.create(OPERATION, &key, sealed).await? {
                return Ok(Created::New(chat));
            }
            // The answer to an attempt that succeeded may have been lost.
            if self.life(OPERATION, &keys).await? == Some(life) {
                return Ok(Created::New(chat));
            }
        }
        Err(Error::new(ErrorKind::Conflict, OPERATION, "the chat is being deleted")
            .with("chat", &chat.chat.chat))
    }

    /// Lists chats, those whose deletion was cut short among them, so that it can be repeated.
    pub(crate) async fn list(&self, query: &ChatQuery) -> Result<Page<ChatSummary>> {
        const OPERATION: &str = "list_chats";
        query.check()?;
        let keys = UserKeys::new(&query.user);
        let folder = match query.metadata.first() {
            Some((key, value)) => keys.tagged(key, &canonical(value)),
            None => keys.chats(),
        };
        let listed = self.bucket.list(OPERATION, &folder, None).await?;
        let keys = listed.iter().filter_map(|listed| listed.key.rsplit('/').next());
        let keys = keys.map(|chat| UserKeys::new(&query.user).chat(chat));
        let states = all(keys.map(|key| self.chat_state(key).boxed()).collect()).await?;
        ChatState::list(states.iter().flatten(), query)
    }

    /// Returns a chat as a listing takes it.
    async fn chat_state(&self, key: String) -> Result<Option<ChatState>> {
        const OPERATION: &str = "list_chats";
        let Some(record) = self.chat_record(OPERATION, &key).await? else { return Ok(None) };
        let number = record.life(OPERATION, &key)?.low();
        Ok(Some(ChatState::new(record.chat, number)))
    }

    /// Marks a chat as deleted and removes what belongs to it. Returns whether it existed.
    pub(crate) async fn delete(
        &self,
        chat: &ChatRef,
        idle_since: Option<context_core::Timestamp>,
    ) -> Result<bool> {
        const OPERATION: &str = "delete_chat";
        limits::check_chat(OPERATION, chat)?;
        self.check_writable(OPERATION)?;
        let keys = ChatKeys::new(chat);
        let key = keys.own();
        let Some(mut record) = self.chat_record(OPERATION, &key).await? else { return Ok(false) };
        if idle_since.is_some_and(|at| record.chat.updated_at > at) {
            return Ok(false);
        }
        let life = record.life(OPERATION, &key)?;
        record.deleted = true;
        self.bucket.put(OPERATION, &key, seal(OPERATION, &key, &record)?).await?;
        self.finish_deletion(&keys, life, &record.chat).await?;
        Ok(true)
    }

    /// Removes the references of a chat that is marked as deleted, then the chat, then the entries
    /// by which a listing finds it.
    async fn finish_deletion(&self, keys: &ChatKeys, life: Nonce, chat: &Chat) -> Result<()> {
        const OPERATION: &str = "delete_chat";
        self.remove_life(OPERATION, keys, life).await?;
        self.bucket.delete(OPERATION, [keys.own()]).await?;
        let entries = tags(keys, chat).into_iter().map(|tag| format!("{tag}/{}", keys.chat));
        self.bucket.delete(OPERATION, entries).await
    }
}
