//! Full-text search: queries and hits.

use std::ops::Range;

use async_trait::async_trait;
use serde::Serialize;

use crate::base::limits;
use crate::store::{Cursor, Page};
use crate::{BranchName, ChatId, ChatRef, MessageId, Result, Role, Timestamp, UserId};

/// The scope of a search.
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

/// A full-text query.
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
    /// The owner of the messages.
    pub user: UserId,
    /// The scope of the search.
    pub scope: SearchScope,
    /// The words to search for, as a person types them. There is no query syntax: no character has
    /// a special meaning. A message matches if it has all words, in any order. The module `search`
    /// of `context-store-kit` defines words. A text without words matches nothing.
    pub text: String,
    /// Whether the last word may be a prefix of a longer one, for search as you type.
    pub prefix: bool,
    /// The roles to search. Empty for all roles.
    pub roles: Vec<Role>,
    /// The maximum page length, from 1 to [`limits::MAX_PAGE`].
    pub limit: usize,
    /// The cursor of the previous page.
    pub after: Option<Cursor>,
}

impl SearchQuery {
    /// Creates a query for whole words in all chats of a user, with twenty hits per page.
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

    /// Refuses invalid ids, a text over its limit and an invalid page size.
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

/// A message that matches a query.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SearchHit {
    /// The chat of the message.
    pub chat: ChatRef,
    /// The id of the message.
    pub message: MessageId,
    /// The role of the author.
    pub role: Role,
    /// The creation time.
    pub created_at: Timestamp,
    /// The relevance: higher is better. Comparable only within one search.
    pub score: f64,
    /// The part of the text that has the words.
    pub snippet: Snippet,
}

impl SearchHit {
    /// Creates a hit.
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

/// Full-text search over the human-readable text of messages
/// ([`Message::readable_text`](crate::Message::readable_text)). JSON, ids and call arguments are
/// not searched, nor are earlier revisions.
#[async_trait]
pub trait SearchStore: Send + Sync {
    /// Returns the best hits first; of equal hits the newest first. A handle finds everything that
    /// it has written.
    ///
    /// A chat or branch that does not exist is [`NotFound`](crate::ErrorKind::NotFound). A message
    /// that is written between two pages may be found twice or not at all.
    async fn search(&self, query: &SearchQuery) -> Result<Page<SearchHit>>;
}

/// A part of a text, with the positions of the hits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Snippet {
    /// The part, verbatim.
    pub text: String,
    /// The ranges of the hits in bytes of `text`, in order and without overlap.
    pub marks: Vec<Range<usize>>,
    /// Whether text precedes the part.
    pub cut_before: bool,
    /// Whether text follows the part.
    pub cut_after: bool,
}
