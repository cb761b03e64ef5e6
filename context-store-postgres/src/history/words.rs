//! The words of messages in the full-text index.
//!
//! The index has two forms of a message's words. The words in order, as one text, are used to find
//! and count phrases exactly. Each word once, with the tag of the user as a prefix, is in an index
//! that finds the few messages to read. Because of the tag, each user has a separate list of
//! messages per word: a search reads no entries of other users. Two users share a tag with a
//! probability of about one in a billion. Access is decided by the chat's row, never by the tag.

use std::collections::BTreeSet;
use std::sync::Arc;

use context_core::{Node, Role, UserId};
use context_store_kit::search::{UserTag, index_text};

use crate::connections::{Session, Statement};
use crate::error::Result;
use crate::sql;

/// The maximum number of bytes of words indexed per message. PostgreSQL accepts at most a megabyte.
/// A message with more words is read by every search of its user.
const MOST_LEXEMES: usize = 1_000_000;

/// The indexed words of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MessageWords {
    pub(crate) role: i16,
    pub(crate) length: i64,
    /// Each word with a space before and after it.
    pub(crate) body: String,
    /// The words as PostgreSQL parses a `tsvector`.
    pub(crate) lexemes: String,
}

/// The words of several messages, as arrays to bind.
#[derive(Clone, Debug, Default)]
pub(crate) struct WordColumns {
    places: Vec<i64>,
    roles: Vec<i16>,
    lengths: Vec<i64>,
    bodies: Vec<String>,
    lexemes: Vec<String>,
}

impl WordColumns {
    /// Returns the words of messages, the first of which is at a place.
    pub(crate) fn of(user: &UserId, first: i64, nodes: &[Arc<Node>]) -> Self {
        let tag = Tag::of(user);
        let mut columns = Self::default();
        for (node, place) in nodes.iter().zip(first..) {
            let Some(words) = tag.words(node) else { continue };
            columns.places.push(place);
            columns.roles.push(words.role);
            columns.lengths.push(words.length);
            columns.bodies.push(words.body);
            columns.lexemes.push(words.lexemes);
        }
        columns
    }

    /// Returns the number of messages that have words.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    pub(crate) fn append(&mut self, mut others: Self) {
        self.places.append(&mut others.places);
        self.roles.append(&mut others.roles);
        self.lengths.append(&mut others.lengths);
        self.bodies.append(&mut others.bodies);
        self.lexemes.append(&mut others.lexemes);
    }

    pub(crate) fn bind(self, statement: Statement) -> Statement {
        let statement = statement.bind(self.places).bind(self.roles).bind(self.lengths);
        statement.bind(self.bodies).bind(self.lexemes)
    }
}

/// Adds the words of messages from a place on.
pub(crate) async fn index(
    session: &mut Session<'_>,
    user: &UserId,
    first: i64,
    nodes: &[Arc<Node>],
) -> Result<()> {
    let columns = WordColumns::of(user, first, nodes);
    if !columns.places.is_empty() {
        let add = columns.bind(session.query(sql::ADD_WORDS));
        session.execute(add).await?;
    }
    Ok(())
}

/// Replaces the words of the message at a place after its body has changed.
pub(crate) async fn reindex(
    session: &mut Session<'_>,
    user: &UserId,
    place: i64,
    node: &Arc<Node>,
) -> Result<()> {
    let forget = session.query(sql::FORGET_WORDS).bind(place).bind(place);
    session.execute(forget).await?;
    index(session, user, place, std::slice::from_ref(node)).await
}

/// Returns the number of a role in the index.
pub(crate) fn role_number(role: Role) -> i16 {
    match role {
        Role::Assistant => 0,
        Role::User => 1,
        Role::Tool => 2,
        Role::System => 3,
    }
}

/// The prefix of every word of a user.
#[derive(Clone, Debug)]
pub(crate) struct Tag(UserTag);

impl Tag {
    pub(crate) fn of(user: &UserId) -> Self {
        Self(UserTag::of(user))
    }

    pub(crate) fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Returns the words of a message, or `None` if it has no text to index.
    pub(crate) fn words(&self, node: &Node) -> Option<MessageWords> {
        let role = node.role()?;
        let plain = index_text(node.message().ok()?);
        if plain.is_empty() {
            return None;
        }
        let mut body = String::with_capacity(plain.len() * 6 / 5 + 2);
        let mut length = 0;
        let mut once = BTreeSet::new();
        for word in plain.split(' ') {
            body.push(' ');
            body.push_str(word);
            body.push(' ');
            length += 1;
            once.insert(word);
        }
        Some(MessageWords { role: role_number(role), length, body, lexemes: self.lexemes(&once) })
    }

    /// Returns each word in quotes. Words consist of letters and digits, so they cannot end a
    /// quote.
    fn lexemes(&self, words: &BTreeSet<&str>) -> String {
        let mut lexemes = String::new();
        let mut bytes = 0;
        for word in words {
            bytes += word.len() + UserTag::LENGTH;
            if bytes > MOST_LEXEMES {
                // The empty word occurs in no text. It marks a message whose words are not all
                // indexed.
                self.push(&mut lexemes, "");
                break;
            }
            self.push(&mut lexemes, word);
        }
        lexemes
    }

    fn push(&self, lexemes: &mut String, word: &str) {
        if !lexemes.is_empty() {
            lexemes.push(' ');
        }
        lexemes.push('\'');
        lexemes.push_str(self.as_str());
        lexemes.push_str(word);
        lexemes.push('\'');
    }
}
