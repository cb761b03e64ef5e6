//! Full-text search: what is asked and what is found.

use std::ops::Range;

use async_trait::async_trait;
use serde::Serialize;

use crate::base::limits;
use crate::store::{Cursor, Page};
use crate::{BranchName, ChatId, ChatRef, MessageId, Result, Role, Timestamp, UserId};

/// Where to search.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SearchScope {
    /// All chats of the user.
    User,
    /// One chat, with all its branches.
    Chat(ChatId),
    /// The messages of one branch, from its root to its head.
    Branch(ChatId, BranchName),
}

/// What to search for, and where.
///
/// ```
/// use context_core::store::{SearchQuery, SearchScope};
///
/// let mut query = SearchQuery::new("ada", "lisbon frid");
/// query.prefix = true; // as somebody types
/// query.scope = SearchScope::Chat("trips".into());
/// assert!(query.check().is_ok());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchQuery {
    /// Whose messages.
    pub user: UserId,
    /// Which of them.
    pub scope: SearchScope,
    /// Words, as a person types them: there is no query syntax, so nothing has to be quoted and
    /// nothing can be wrong. A message is found if it has all of them, in any order;
    /// `search` of `context-store-kit` says what a word is. A text without words finds nothing.
    pub text: String,
    /// Whether the last word may be the beginning of one: search as you type.
    pub prefix: bool,
    /// Only messages of these roles; all if there are none.
    pub roles: Vec<Role>,
    /// The longest page, from 1 to [`limits::MAX_PAGE`].
    pub limit: usize,
    /// Where the last page ended.
    pub after: Option<Cursor>,
}

impl SearchQuery {
    /// Searches all chats of a user for whole words; the first twenty hits.
    pub fn new(user: impl Into<UserId>, text: impl Into<String>) -> Self {
        let (scope, roles) = (SearchScope::User, Vec::new());
        Self {
            user: user.into(),
            scope,
            text: text.into(),
            prefix: false,
            roles,
            limit: 20,
            after: None,
        }
    }

    /// Refuses bad ids, a text that is too long and a bad page size.
    pub fn check(&self) -> Result<()> {
        const OPERATION: &str = "search";
        limits::check_id(OPERATION, "user", self.user.as_str())?;
        if let SearchScope::Chat(chat) | SearchScope::Branch(chat, _) = &self.scope {
            limits::check_id(OPERATION, "chat", chat.as_str())?;
        }
        if let SearchScope::Branch(_, branch) = &self.scope {
            limits::check_id(OPERATION, "branch", branch.as_str())?;
        }
        limits::check_length(OPERATION, "search text", self.text.len(), limits::MAX_SEARCH_BYTES)?;
        limits::check_page(OPERATION, self.limit)
    }
}

/// A message that was found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SearchHit {
    /// The chat it is in.
    pub chat: ChatRef,
    /// Its id.
    pub message: MessageId,
    /// Who speaks.
    pub role: Role,
    /// When it was said.
    pub created_at: Timestamp,
    /// How well it fits: higher is better. Only good for comparing hits of one search.
    pub score: f64,
    /// The part of its text where the words are.
    pub snippet: Snippet,
}

impl SearchHit {
    /// A hit.
    pub fn new(
        chat: ChatRef,
        message: MessageId,
        (role, created_at): (Role, Timestamp),
        score: f64,
        snippet: Snippet,
    ) -> Self {
        Self { chat, message, role, created_at, score, snippet }
    }
}

/// Full-text search over what a person would read of the messages
/// ([`Message::readable_text`](crate::Message::readable_text)): not over JSON, ids or calls'
/// arguments; messages as they are now, not earlier revisions.
#[async_trait]
pub trait SearchStore: Send + Sync {
    /// The best hits first; of equally good ones the newest. What a handle has written, it finds.
    ///
    /// A chat or branch that does not exist is [`NotFound`](crate::ErrorKind::NotFound). A message
    /// that is written while somebody pages may be seen twice or not at all.
    async fn search(&self, query: &SearchQuery) -> Result<Page<SearchHit>>;
}

/// A part of a text and where the words that were looked for are in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Snippet {
    /// The part, as it stands in the text.
    pub text: String,
    /// Where the words are, in bytes of `text`, in order and apart from each other.
    pub marks: Vec<Range<usize>>,
    /// Whether the text begins before the part.
    pub cut_before: bool,
    /// Whether the text goes on behind it.
    pub cut_after: bool,
}
