//! What the full-text index keeps of a message, and how it is asked: the search's words behind a
//! user's tag.
//!
//! The tag is in front of every word, so the list of messages with a word is one per user: a search
//! reads none of the others', and how rare a word is, is counted among the user's own. (How many
//! messages there are, and how long they are on average, which ranking takes as well, is counted
//! over the file.) Two users may, once in a billion, share a tag; who may see what is decided by
//! the chat's row, never by the tag.

use std::sync::Arc;

use context_core::store::KeyOrder;
use context_core::{Node, Role, UserId};
use context_store_kit::pack;
use context_store_kit::search::{Phrase, Terms, UserTag, index_text};
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use crate::error::Result;
use crate::rows::blob;
use crate::sql;

const FULL_TEXT: &str = include_str!("../../migrations/full_text.sql");
const APPEND_WORDS: &str = include_str!("../../migrations/append_words.sql");

/// What is kept of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Words {
    /// The number of the column.
    pub(crate) column: i64,
    pub(crate) text: String,
}

/// How many words there are in each column.
pub(crate) type Counts = [u64; 4];

/// Reads counts as FTS5 stores them: a number per column, seven bits in a byte, all bytes but the
/// last with the eighth. Nothing if it is something else.
pub(crate) fn counts<const COLUMNS: usize>(stored: &[u8]) -> Option<[u64; COLUMNS]> {
    const MOST_BYTES: usize = 8;
    let mut bytes = stored.iter();
    let mut counts = [0; COLUMNS];
    for count in &mut counts {
        let mut length = 0;
        loop {
            let byte = bytes.next()?;
            length += 1;
            *count = *count << 7 | u64::from(byte & 0x7f);
            if byte & 0x80 == 0 {
                break;
            }
            if length == MOST_BYTES {
                return None;
            }
        }
    }
    bytes.next().is_none().then_some(counts)
}

impl Words {
    pub(crate) fn counts(&self) -> Counts {
        let words = self.text.split(' ').count() as u64;
        std::array::from_fn(|column| if column as i64 == self.column { words } else { 0 })
    }

    /// An expression for messages of this role that have the longest of these words.
    pub(crate) fn longest(&self) -> String {
        let longest = self.text.split(' ').max_by_key(|word| word.len()).unwrap_or_default();
        let columns = COLUMNS.get(usize::try_from(self.column).unwrap_or(usize::MAX));
        format!("{} : \"{longest}\"", columns.map_or("", |role| role.as_str()))
    }
}

/// The columns of the index, by number.
const COLUMNS: [Role; 4] = [Role::Assistant, Role::User, Role::Tool, Role::System];

fn column(role: Role) -> i64 {
    match role {
        Role::Assistant => 0,
        Role::User => 1,
        Role::Tool => 2,
        Role::System => 3,
    }
}

/// What stands in front of every word of a user.
#[derive(Clone, Debug)]
pub(crate) struct Tag(UserTag);

impl Tag {
    pub(crate) fn of(user: &UserId) -> Self {
        Self(UserTag::of(user))
    }

    fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The words of a message; nothing if there is nothing to read in it.
    pub(crate) fn words(&self, node: &Node) -> Option<Words> {
        let role = node.role()?;
        let plain = index_text(node.message().ok()?);
        if plain.is_empty() {
            return None;
        }
        let mut text = String::with_capacity(plain.len() * 2 + UserTag::LENGTH);
        for word in plain.split(' ') {
            if !text.is_empty() {
                text.push(' ');
            }
            text.push_str(self.as_str());
            text.push_str(word);
        }
        Some(Words { column: column(role), text })
    }

    /// The words of some messages, one after another, as `append` and `INDEX_WORDS` take them.
    pub(crate) fn words_json<'a>(&self, nodes: impl Iterator<Item = &'a Node>) -> String {
        let pairs: Vec<_> =
            nodes.map(|node| self.words(node).map(|words| (words.column, words.text))).collect();
        serde_json::to_string(&pairs).expect("numbers and texts are always json")
    }

    /// What FTS5 is asked to find all phrases in messages of these roles. Nothing of what was typed
    /// has a meaning.
    pub(crate) fn expression(&self, terms: &Terms, roles: &[Role]) -> String {
        let mut columns: Vec<&str> = Vec::new();
        for role in COLUMNS.into_iter().filter(|role| roles.is_empty() || roles.contains(role)) {
            columns.push(role.as_str());
        }
        let phrases: Vec<String> =
            terms.phrases().iter().map(|phrase| self.phrase(phrase)).collect();
        format!("{{{}}} : ({})", columns.join(" "), phrases.join(" AND "))
    }

    /// An expression for every word of the user.
    pub(crate) fn any_word(&self) -> String {
        format!("\"{}\"*", self.as_str())
    }

    fn phrase(&self, phrase: &Phrase) -> String {
        let mut quoted = String::from("\"");
        for word in &phrase.words {
            quoted.push_str(self.as_str());
            // A word has no quotes; if it had, they would stay inside.
            quoted.push_str(&word.replace('"', "\"\""));
            quoted.push(' ');
        }
        quoted.push('"');
        if phrase.prefix {
            quoted.push('*');
        }
        quoted
    }
}

/// Adds the words of messages that follow each other from a place on.
pub(crate) async fn index(
    connection: &mut SqliteConnection,
    user: &UserId,
    first: i64,
    nodes: &[Arc<Node>],
) -> Result<()> {
    let words = Tag::of(user).words_json(nodes.iter().map(AsRef::as_ref));
    sqlx::query(sql::INDEX_WORDS).bind(first).bind(words).execute(connection).await?;
    Ok(())
}

/// The words of a message whose body has changed.
pub(crate) async fn reindex(
    connection: &mut SqliteConnection,
    user: &UserId,
    place: i64,
    node: &Arc<Node>,
) -> Result<()> {
    sqlx::query(sql::FORGET_WORDS).bind(place).execute(&mut *connection).await?;
    index(connection, user, place, std::slice::from_ref(node)).await
}

/// Lets appends to a file with full text write words as well.
pub(crate) async fn append_with_words(connection: &mut SqliteConnection) -> Result<()> {
    sqlx::raw_sql(APPEND_WORDS).execute(connection).await?;
    Ok(())
}

/// Makes the index of a file that had none: reads every message once.
pub(crate) async fn build(connection: &mut SqliteConnection) -> Result<()> {
    sqlx::raw_sql(FULL_TEXT).execute(&mut *connection).await?;
    append_with_words(connection).await?;
    let mut after = 0;
    let mut order = KeyOrder::new("open", "run");
    loop {
        let rows = sqlx::query(sql::RUNS_OF_USERS).bind(after).fetch_all(&mut *connection).await?;
        if rows.is_empty() {
            return Ok(());
        }
        for row in rows {
            after = row.try_get(0)?;
            order.next(after)?;
            let user = UserId::from(row.try_get::<&str, _>(1)?);
            index(connection, &user, after, &pack::unpack(&blob(row, 2)?)?).await?;
        }
    }
}

#[cfg(test)]
mod tests {
    use context_core::{Message, Timestamp};

    use super::*;

    fn node(role: Role, text: &str) -> Node {
        Node::new("m", Message::text(role, text), Timestamp::from_micros(1))
    }

    #[test]
    fn tags_never_change() {
        let tag = |user: &str| Tag::of(&user.into()).as_str().to_owned();
        assert_eq!([tag("ada"), tag("bob"), tag("")], ["3nupwt", "ewrtzd", "ptjzvz"]);
    }

    #[test]
    fn counts_are_read_as_they_are_stored() {
        assert_eq!(counts(&[0, 5, 0x81, 0x00, 0xff, 0x7f]), Some([0, 5, 128, 16_383]));
        for bad in [&[][..], &[0, 0, 0], &[0, 0, 0, 0, 0], &[0x80; 40]] {
            assert_eq!(counts::<4>(bad), None);
        }
    }

    #[test]
    fn every_word_has_the_tag() {
        let tag = Tag::of(&"ada".into());
        let words = tag.words(&node(Role::Tool, "Two tickets, 北京!"));
        assert_eq!(
            words,
            Some(Words {
                column: 2, text: "3nupwttwo 3nupwttickets 3nupwt北 3nupwt京".to_owned()
            })
        );
        assert_eq!(tag.words(&node(Role::User, "…")), None);
        let nodes = [node(Role::User, "a"), node(Role::User, " "), node(Role::System, "b")];
        assert_eq!(tag.words_json(nodes.iter()), r#"[[1,"3nupwta"],null,[3,"3nupwtb"]]"#);
    }

    #[test]
    fn phrases_are_quoted_and_roles_are_columns() {
        let tag = Tag::of(&"ada".into());
        let terms = Terms::parse("what's \" OR up*", true);
        assert_eq!(
            tag.expression(&terms, &[Role::User, Role::System]),
            r#"{user system} : ("3nupwtwhat 3nupwts " AND "3nupwtor " AND "3nupwtup "*)"#
        );
        let columns: Vec<i64> = COLUMNS.into_iter().map(column).collect();
        assert_eq!(columns, [0, 1, 2, 3]);
    }
}
