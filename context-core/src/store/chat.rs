//! Chats: what a store keeps about a conversation beside its messages.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base::limits;
use crate::{BranchName, ChatRef, Json, Metadata, Result, Timestamp, UserId};

/// A chat as it is stored. What is written of it as JSON can be read back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Chat {
    /// Whose chat it is and which.
    #[serde(flatten)]
    pub chat: ChatRef,
    /// For people.
    #[serde(default)]
    pub title: Option<String>,
    /// Of the application.
    #[serde(default)]
    pub metadata: Metadata,
    /// The branch that is worked on.
    pub active: BranchName,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was last written to: the latest time that a call brought which wrote to the chat.
    /// Never goes backwards, whatever the callers' clocks say.
    ///
    /// These calls move it, also if they leave the chat as it is, such as an empty patch:
    /// `update_chat`, `activate_branch`, `rename_branch`, `delete_branch`, `set_checkpoint`,
    /// `put_fragments`, and a `commit` that is [`Applied`](crate::store::CommitOutcome::Applied). A call
    /// that is refused or answers with another outcome does not, nor do `delete_checkpoint` and
    /// `remove_fragment`, which bring no time, nor blobs, streams and rounds.
    pub updated_at: Timestamp,
}

impl Chat {
    /// A chat as its first commit finds it: one branch, `main`, without messages.
    pub fn new(new: NewChat) -> Self {
        Self {
            chat: new.chat,
            title: new.title,
            metadata: new.metadata,
            active: BranchName::main(),
            created_at: new.at,
            updated_at: new.at,
        }
    }
}

/// A chat to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewChat {
    /// Whose chat and which.
    pub chat: ChatRef,
    /// For people.
    pub title: Option<String>,
    /// Of the application.
    pub metadata: Metadata,
    /// Now.
    pub at: Timestamp,
}

impl NewChat {
    /// Refuses a chat that cannot be created.
    pub fn check(&self) -> Result<()> {
        const OPERATION: &str = "create_chat";
        limits::check_chat(OPERATION, &self.chat)?;
        limits::check_title(OPERATION, self.title.as_deref())?;
        limits::check_metadata(OPERATION, &self.metadata)
    }

    /// A chat without title and metadata.
    pub fn new(chat: ChatRef, at: Timestamp) -> Self {
        Self { chat, title: None, metadata: Metadata::default(), at }
    }
}

/// What became of creating a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Created {
    /// It was created.
    New(Chat),
    /// It was there and is unchanged.
    Existing(Chat),
}

impl Created {
    /// The chat, new or not.
    pub fn into_chat(self) -> Chat {
        match self {
            Self::New(chat) | Self::Existing(chat) => chat,
        }
    }
}

/// A change of a chat's title and metadata, applied in this order inside one transaction.
///
/// ```
/// use context_core::{ChatRef, Metadata, Timestamp};
/// use context_core::store::{Chat, ChatPatch, NewChat};
///
/// let mut chat = Chat::new(NewChat::new(ChatRef::new("ada", "lisbon"), Timestamp::default()));
/// let patch = ChatPatch {
///     title: Some(Some("To Lisbon".to_owned())),
///     add: Metadata::default().with("tokens", 120),
///     ..ChatPatch::default()
/// };
/// patch.apply(&mut chat)?;
/// patch.apply(&mut chat)?;
/// assert_eq!(chat.metadata.get("tokens").map(|json| json.as_str()), Some("240"));
/// # Ok::<(), context_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChatPatch {
    /// A new title; `Some(None)` takes the title away.
    pub title: Option<Option<String>>,
    /// Metadata keys to take away.
    pub remove: Vec<String>,
    /// Metadata keys to set, at the top level.
    pub set: Metadata,
    /// Numbers to add to what is there, at any depth: objects are walked, numbers are added, what
    /// is new or of another type is set. This is how usage is counted without reading first.
    pub add: Metadata,
}

impl ChatPatch {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.title.is_none() && self.remove.is_empty() && self.set.is_empty() && self.add.is_empty()
    }

    /// Refuses what is too large in itself.
    pub(crate) fn check(&self, operation: &'static str) -> Result<()> {
        limits::check_title(operation, self.title.as_ref().and_then(|title| title.as_deref()))?;
        limits::check_metadata(operation, &self.set)?;
        limits::check_metadata(operation, &self.add)
    }

    /// The chat with this change. Every store calls this inside its transaction, so that all merge
    /// alike. Refuses what is too large in itself or would make the metadata so.
    pub fn apply(&self, chat: &mut Chat) -> Result<()> {
        const OPERATION: &str = "update_chat";
        self.check(OPERATION)?;
        if let Some(title) = &self.title {
            chat.title.clone_from(title);
        }
        for key in &self.remove {
            chat.metadata.remove(key);
        }
        for (key, value) in self.set.iter() {
            chat.metadata.insert(key, value.clone());
        }
        for (key, amount) in self.add.iter() {
            let sum = match chat.metadata.get(key) {
                Some(present) => add(present, amount),
                None => amount.clone(),
            };
            chat.metadata.insert(key, sum);
        }
        limits::check_metadata(OPERATION, &chat.metadata)
    }
}

fn add(present: &Json, amount: &Json) -> Json {
    type Object = indexmap::IndexMap<String, Json>;
    if let (Ok(mut left), Ok(right)) = (present.parse::<Object>(), amount.parse::<Object>()) {
        for (key, amount) in right {
            let sum = left.get(&key).map(|present| add(present, &amount)).unwrap_or(amount);
            left.insert(key, sum);
        }
        return Json::from_serialize(&left).unwrap_or_else(|_| present.clone());
    }
    match (present.parse::<Value>(), amount.parse::<Value>()) {
        (Ok(Value::Number(a)), Ok(Value::Number(b))) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => Value::from(a.saturating_add(b)).into(),
            _ => {
                Value::from(a.as_f64().unwrap_or_default() + b.as_f64().unwrap_or_default()).into()
            }
        },
        _ => amount.clone(),
    }
}

/// Where a page ended. Opaque; only good for the store and listing it came from.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cursor(String);

impl Cursor {
    /// A cursor of a store's own making.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cursor({})", self.0)
    }
}

/// A page of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// Where to go on; nothing at the end.
    pub next: Option<Cursor>,
}

/// Which chats of a user to list. Newest activity first, by [`Chat::updated_at`] and then by
/// creation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatQuery {
    /// Whose chats.
    pub user: UserId,
    /// Metadata that must be there, by exact top-level key. Values are compared as JSON values; a
    /// dot in a key is a dot.
    pub metadata: Vec<(String, Json)>,
    /// The longest page, from 1 to [`limits::MAX_PAGE`].
    pub limit: usize,
    /// Where the last page ended.
    pub after: Option<Cursor>,
}

impl ChatQuery {
    /// The first hundred chats of a user.
    pub fn new(user: impl Into<UserId>) -> Self {
        Self { user: user.into(), metadata: Vec::new(), limit: 100, after: None }
    }

    /// Whether a chat's metadata fits the filters.
    pub fn matches(&self, chat: &Chat) -> bool {
        self.metadata.iter().all(|(key, want)| {
            chat.metadata.get(key).is_some_and(|have| {
                have == want
                    || have
                        .parse::<Value>()
                        .ok()
                        .is_some_and(|have| want.parse().ok() == Some(have))
            })
        })
    }

    /// Refuses a bad user or page size.
    pub fn check(&self) -> Result<()> {
        limits::check_id("list_chats", "user", self.user.as_str())?;
        limits::check_page("list_chats", self.limit)
    }
}

/// A chat in a listing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ChatSummary {
    /// The chat.
    #[serde(flatten)]
    pub chat: Chat,
    /// How many messages it has, on all branches.
    pub messages: u64,
    /// How many branches it has.
    pub branches: u64,
}

impl ChatSummary {
    /// A chat and its counts.
    pub fn new(chat: Chat, messages: u64, branches: u64) -> Self {
        Self { chat, messages, branches }
    }
}

/// How much a chat holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ChatSize {
    /// Messages, on all branches.
    pub messages: u64,
    /// Bytes of its messages and their revisions as the store keeps them, without indexes.
    pub bytes: u64,
}

impl ChatSize {
    /// A size.
    pub fn new(messages: u64, bytes: u64) -> Self {
        Self { messages, bytes }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn patches_merge_set_remove_and_add() {
        let mut chat = Chat::new(NewChat::new(ChatRef::new("u", "c"), Timestamp::default()));
        let usage = |value: Value| Metadata::default().with("usage", value);
        ChatPatch { add: usage(json!({"in": 10, "out": 2})), ..ChatPatch::default() }
            .apply(&mut chat)
            .unwrap();
        let more = json!({"in": 5, "out": 1, "details": {"cached": 4}});
        let patch = ChatPatch {
            add: usage(more),
            set: Metadata::default().with("a", 1).with("b", 2),
            ..ChatPatch::default()
        };
        patch.apply(&mut chat).unwrap();
        ChatPatch {
            remove: vec!["a".into()],
            title: Some(Some("T".into())),
            ..ChatPatch::default()
        }
        .apply(&mut chat)
        .unwrap();
        let expected = json!({"usage": {"in": 15, "out": 3, "details": {"cached": 4}}, "b": 2});
        assert_eq!(serde_json::to_value(&chat.metadata).unwrap(), expected);
        assert_eq!(chat.title.as_deref(), Some("T"));
    }

    #[test]
    fn what_is_written_of_a_chat_can_be_read_back() {
        let mut chat = Chat::new(NewChat::new(ChatRef::new("u", "c"), Timestamp::from_micros(1)));
        chat.title = Some("T".to_owned());
        chat.metadata = Metadata::default().with("price", Json::from_text("1.10").unwrap());
        (chat.active, chat.updated_at) = ("side".into(), Timestamp::from_micros(2));
        let text = serde_json::to_string(&chat).unwrap();
        assert_eq!(serde_json::from_str::<Chat>(&text).unwrap(), chat);
    }

    #[test]
    fn filters_compare_values_not_text() {
        let mut chat = Chat::new(NewChat::new(ChatRef::new("u", "c"), Timestamp::default()));
        chat.metadata = Metadata::default().with("a.b", json!({"x": 1, "y": [true]}));
        let spaced = Json::from_text(r#"{ "y": [ true ], "x": 1 }"#).unwrap();
        let query = |key: &str, value: Json| ChatQuery {
            metadata: vec![(key.into(), value)],
            ..ChatQuery::new("u")
        };
        assert!(query("a.b", spaced.clone()).matches(&chat));
        assert!(!query("a", spaced).matches(&chat));
    }
}
