//! The words of a message in the full-text index, and the index expressions of a search. Every word
//! has the tag of its user as a prefix.
//!
//! Because of the tag, each user has a separate list of messages per word: a search reads no
//! entries of other users, and the frequency of a word is counted among the user's own messages.
//! (The number of messages and their average length, which the ranking also uses, are counted over
//! the whole file.) Two users share a tag with a probability of about one in a billion. Access is
//! decided by the chat's row, never by the tag.

use std::iter;
use std::sync::{Arc, LazyLock};

use context_core::store::KeyOrder;
use context_core::{Node, Role, UserId};
use context_store_kit::pack;
use context_store_kit::search::{Phrase, Terms, UserTag, index_text};
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use crate::connections::batch_insert::BatchInsert;
use crate::error::Result;
use crate::sql::{self, run};
use crate::values::rows::blob;

const FULL_TEXT: &str = include_str!("../../migrations/full_text.sql");

/// The indexed words of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MessageWords {
    /// The number of the column.
    pub(crate) column: i64,
    pub(crate) text: String,
}

/// The number of words in each column.
pub(crate) type Counts = [u64; 4];

/// Reads counts as FTS5 stores them: one variable-length integer per column, seven bits per byte,
/// with the eighth bit set in all bytes but the last. Returns `None` for any other data.
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

impl MessageWords {
    pub(crate) fn counts(&self) -> Counts {
        let words = self.text.split(' ').count() as u64;
        std::array::from_fn(|column| if column as i64 == self.column { words } else { 0 })
    }

    /// Returns an expression for the messages of this role that contain the longest of these words.
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

/// The prefix of every word of a user.
#[derive(Clone, Debug)]
pub(crate) struct Tag(UserTag);

impl Tag {
    pub(crate) fn of(user: &UserId) -> Self {
        Self(UserTag::of(user))
    }

    fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Returns the words of a message, or `None` if it has no text to index.
    pub(crate) fn words(&self, node: &Node) -> Option<MessageWords> {
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
        Some(MessageWords { column: column(role), text })
    }

    /// Returns the row of a message in the index, or `None` if it has no text to index.
    pub(crate) fn row(&self, place: i64, node: &Node) -> Option<(i64, MessageWords)> {
        Some((place, self.words(node)?))
    }

    /// Returns an FTS5 expression for all phrases in messages of these roles. Nothing in the user's
    /// input has a syntactic meaning.
    pub(crate) fn expression(&self, terms: &Terms, roles: &[Role]) -> String {
        let mut columns: Vec<&str> = Vec::new();
        for role in COLUMNS.into_iter().filter(|role| roles.is_empty() || roles.contains(role)) {
            columns.push(role.as_str());
        }
        let phrases: Vec<String> =
            terms.phrases().iter().map(|phrase| self.phrase(phrase)).collect();
        format!("{{{}}} : ({})", columns.join(" "), phrases.join(" AND "))
    }

    /// Returns an expression for every word of the user.
    pub(crate) fn any_word(&self) -> String {
        format!("\"{}\"*", self.as_str())
    }

    /// Returns an expression for one phrase in messages of all roles.
    pub(crate) fn phrase(&self, phrase: &Phrase) -> String {
        let mut quoted = String::from("\"");
        for word in &phrase.words {
            quoted.push_str(self.as_str());
            // Words have no quotes. If one had, escaping would keep it inside the string.
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

/// Adds rows to the index. Those in the order of their places are added fastest.
pub(crate) async fn insert(
    connection: &mut SqliteConnection,
    rows: &[(i64, MessageWords)],
) -> Result<()> {
    static ADD: LazyLock<BatchInsert> = LazyLock::new(|| {
        let columns: Vec<&str> =
            iter::once("rowid").chain(COLUMNS.iter().map(|role| role.as_str())).collect();
        BatchInsert::with_columns("words", &columns)
    });
    for batch in ADD.batches(rows) {
        let query = batch.query(|query, (place, words)| {
            let text = |column| (column == words.column).then_some(&*words.text);
            (0..)
                .take(COLUMNS.len())
                .map(text)
                .fold(query.bind(*place), |query, text| query.bind(text))
        });
        run(connection, query).await?;
    }
    Ok(())
}

/// Adds the words of consecutive messages, beginning at a place.
pub(crate) async fn index(
    connection: &mut SqliteConnection,
    user: &UserId,
    first: i64,
    nodes: &[Arc<Node>],
) -> Result<()> {
    let tag = Tag::of(user);
    let rows: Vec<_> =
        (first..).zip(nodes).filter_map(|(place, node)| tag.row(place, node)).collect();
    insert(connection, &rows).await
}

/// Replaces the words of a message whose body has changed.
pub(crate) async fn reindex(
    connection: &mut SqliteConnection,
    user: &UserId,
    place: i64,
    node: &Arc<Node>,
) -> Result<()> {
    sqlx::query(sql::words::FORGET_WORDS).bind(place).execute(&mut *connection).await?;
    index(connection, user, place, std::slice::from_ref(node)).await
}

/// Creates the index of a file that had none. Every message is read once.
pub(crate) async fn build(connection: &mut SqliteConnection) -> Result<()> {
    sqlx::raw_sql(FULL_TEXT).execute(&mut *connection).await?;
    let mut after = 0;
    let mut order = KeyOrder::new("open", "run");
    loop {
        let rows =
            sqlx::query(sql::words::RUNS_OF_USERS).bind(after).fetch_all(&mut *connection).await?;
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
            Some(MessageWords {
                column: 2,
                text: "3nupwttwo 3nupwttickets 3nupwt北 3nupwt京".to_owned()
            })
        );
        assert_eq!(tag.words(&node(Role::User, "…")), None);
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
