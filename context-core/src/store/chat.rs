//! Chats: the data of a conversation other than its messages.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base::limits;
use crate::{BranchName, ChatRef, Error, ErrorKind, Json, Metadata, Result, Timestamp, UserId};

/// A stored chat. Its JSON form can be deserialized again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Chat {
    /// The owner and the id.
    #[serde(flatten)]
    pub chat: ChatRef,
    /// A title for people.
    #[serde(default)]
    pub title: Option<String>,
    /// Metadata of the application.
    #[serde(default)]
    pub metadata: Metadata,
    /// The active branch.
    pub active: BranchName,
    /// The creation time.
    pub created_at: Timestamp,
    /// The time of the last write: the latest timestamp of a call that wrote to the chat. Never
    /// goes backwards, whatever the callers' clocks say.
    ///
    /// These calls advance it, even if they change nothing, such as an empty patch: `update_chat`,
    /// `activate_branch`, `rename_branch`, `delete_branch`, `set_checkpoint`, `delete_checkpoint`,
    /// `put_fragments`, `remove_fragment`, and a `commit` that is
    /// [`Applied`](crate::store::CommitOutcome::Applied). A call that is refused or has another
    /// outcome does not advance it. Neither do `clear_fragment_log` and `clear_ref_log`, which
    /// carry no timestamp, and calls on blobs, streams and rounds.
    pub updated_at: Timestamp,
}

impl Chat {
    /// Creates a chat as its first commit finds it: one branch, `main`, without messages.
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
    /// The owner and the id.
    pub chat: ChatRef,
    /// A title for people.
    pub title: Option<String>,
    /// Metadata of the application.
    pub metadata: Metadata,
    /// The current time.
    pub at: Timestamp,
}

impl NewChat {
    /// Refuses an invalid new chat.
    pub fn check(&self) -> Result<()> {
        const OPERATION: &str = "create_chat";
        limits::check_chat(OPERATION, &self.chat)?;
        limits::check_title(OPERATION, self.title.as_deref())?;
        limits::check_metadata(OPERATION, &self.metadata)
    }

    /// Creates a chat without title and metadata.
    pub fn new(chat: ChatRef, at: Timestamp) -> Self {
        Self { chat, title: None, metadata: Metadata::default(), at }
    }
}

/// The outcome of creating a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Created {
    /// The chat was created.
    New(Chat),
    /// The chat existed already and is unchanged.
    Existing(Chat),
}

impl Created {
    /// Returns the chat, new or not.
    pub fn into_chat(self) -> Chat {
        match self {
            Self::New(chat) | Self::Existing(chat) => chat,
        }
    }

    /// Returns the chat if this call created it, and [`ErrorKind::Conflict`] if it existed, for
    /// callers that must not share a chat.
    ///
    /// ```
    /// use context_core::store::{Chat, Created, NewChat};
    /// use context_core::{ChatRef, ErrorKind, Timestamp};
    ///
    /// let chat = Chat::new(NewChat::new(ChatRef::new("ada", "lisbon"), Timestamp::default()));
    /// assert_eq!(Created::New(chat.clone()).into_new()?, chat);
    /// let refused = Created::Existing(chat).into_new().unwrap_err();
    /// assert_eq!(refused.kind(), ErrorKind::Conflict);
    /// # Ok::<(), context_core::Error>(())
    /// ```
    pub fn into_new(self) -> Result<Chat> {
        match self {
            Self::New(chat) => Ok(chat),
            Self::Existing(chat) => {
                Err(Error::new(ErrorKind::Conflict, "create_chat", "the chat exists already")
                    .with("chat", &chat.chat.chat))
            }
        }
    }
}

/// A change of a chat's title and metadata. The fields are applied in this order in one
/// transaction.
///
/// ```
/// use context_core::{ChatRef, Metadata, Timestamp};
/// use context_core::store::{Chat, ChatPatch, NewChat, TitleChange};
///
/// let mut chat = Chat::new(NewChat::new(ChatRef::new("ada", "lisbon"), Timestamp::default()));
/// let patch = ChatPatch {
///     title: TitleChange::Set("To Lisbon".to_owned()),
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
    /// The change of the title.
    pub title: TitleChange,
    /// Metadata keys to remove.
    pub remove: Vec<String>,
    /// Metadata keys to set, at the top level.
    pub set: Metadata,
    /// Numbers to add to stored ones, at any depth: objects are merged recursively, numbers are
    /// added, and a new key or a value of another type is set. Use it to count usage without
    /// reading first.
    pub add: Metadata,
}

/// A change of a chat's title.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TitleChange {
    /// The title stays as it is.
    #[default]
    Keep,
    /// The chat has no title.
    Remove,
    /// The chat has this title.
    Set(String),
}

impl TitleChange {
    /// Returns the new title, if there is one.
    pub fn title(&self) -> Option<&str> {
        match self {
            Self::Set(title) => Some(title),
            Self::Keep | Self::Remove => None,
        }
    }
}

impl From<Option<String>> for TitleChange {
    /// Returns the change that leaves a chat with this title, or with none.
    fn from(title: Option<String>) -> Self {
        title.map_or(Self::Remove, Self::Set)
    }
}

impl ChatPatch {
    /// Returns whether the patch changes nothing.
    pub fn is_empty(&self) -> bool {
        self.title == TitleChange::Keep
            && self.remove.is_empty()
            && self.set.is_empty()
            && self.add.is_empty()
    }

    /// Refuses a patch that exceeds a limit by itself.
    pub(crate) fn check(&self, operation: &'static str) -> Result<()> {
        limits::check_title(operation, self.title.title())?;
        limits::check_metadata(operation, &self.set)?;
        limits::check_metadata(operation, &self.add)
    }

    /// Applies the patch to a chat. Every store calls this inside its transaction, so that all
    /// stores merge alike. Refuses a patch that exceeds a limit by itself or would make the
    /// metadata exceed it.
    pub fn apply(&self, chat: &mut Chat) -> Result<()> {
        const OPERATION: &str = "update_chat";
        self.check(OPERATION)?;
        if self.title != TitleChange::Keep {
            chat.title = self.title.title().map(str::to_owned);
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

/// The position where a page ended. Opaque; valid only for the store and listing that returned it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cursor(String);

impl Cursor {
    /// Creates a cursor with a store's own encoding.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text of the cursor.
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
    /// The cursor of the next page. `None` on the last page.
    pub next: Option<Cursor>,
}

/// A query for the chats of a user. Chats are ordered by newest activity, that is by
/// [`Chat::updated_at`] and then by creation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatQuery {
    /// The owner of the chats.
    pub user: UserId,
    /// Metadata that a chat must have, by exact top-level key. Values are compared as JSON values.
    /// A dot in a key has no special meaning.
    pub metadata: Vec<(String, Json)>,
    /// The maximum page length, from 1 to [`limits::MAX_PAGE`].
    pub limit: usize,
    /// The cursor of the previous page.
    pub after: Option<Cursor>,
}

impl ChatQuery {
    /// Creates a query for the first hundred chats of a user.
    pub fn new(user: impl Into<UserId>) -> Self {
        Self { user: user.into(), metadata: Vec::new(), limit: 100, after: None }
    }

    /// Returns whether a chat's metadata matches the filters.
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

    /// Refuses an invalid user or page size.
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
    /// Number of messages on all branches.
    pub messages: u64,
    /// Number of branches.
    pub branches: u64,
}

impl ChatSummary {
    /// Creates a summary from a chat and its counts.
    pub fn new(chat: Chat, messages: u64, branches: u64) -> Self {
        Self { chat, messages, branches }
    }
}

/// The size of a chat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ChatSize {
    /// Number of messages on all branches.
    pub messages: u64,
    /// Size in bytes of the messages and their revisions as the store keeps them, without indexes.
    pub bytes: u64,
}

impl ChatSize {
    /// Creates a size.
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
            title: TitleChange::Set("T".into()),
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
