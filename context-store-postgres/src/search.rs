//! Full-text search: the index ranks the hits, the messages provide the rest.

use std::collections::HashMap;

use context_core::store::{Cursor, Page, SearchHit, SearchQuery, SearchScope};
use context_core::{ChatRef, Error, Role, UserId};
use context_store_kit::search::{Phrase, Terms};
use sqlx::Row;

use crate::chat::access::chat_no;
use crate::chat::branches::find_branch;
use crate::connections::Session;
use crate::error::{Fault, Result, bad_cursor};
use crate::history::messages::nodes_at;
use crate::history::words::{Tag, role_number};
use crate::sql;
use crate::values::numbers::signed;
use crate::values::rows::text;

const OPERATION: &str = "search";

/// A hit of the index.
struct IndexHit {
    place: i64,
    score: f64,
    chat: ChatRef,
}

/// Searches messages. All reads see one state of the store.
pub(crate) async fn search(
    session: &mut Session<'_>,
    query: &SearchQuery,
) -> Result<Page<SearchHit>> {
    let after = query.after.as_ref().map(parse_cursor).transpose()?;
    let terms = Terms::parse(&query.text, query.prefix);
    let mut found = find(session, query, &terms, after).await?;
    let more = found.len() > query.limit;
    found.truncate(query.limit);
    let places: Vec<i64> = found.iter().map(|found| found.place).collect();
    let nodes = if places.is_empty() { HashMap::new() } else { nodes_at(session, &places).await? };
    let next = found.last().filter(|_| more);
    let next = next.map(|last| Cursor::new(format!("{}:{}", last.score.to_bits(), last.place)));
    let mut items = Vec::with_capacity(found.len());
    for IndexHit { place, score, chat } in found {
        let node = nodes
            .get(&place)
            .ok_or(Fault::Corrupt("the full-text index has a message that does not exist", None))?;
        let (Some(role), Ok(message)) = (node.role(), node.message()) else {
            return Err(Fault::Corrupt(
                "the full-text index has words of a node that is not a message",
                None,
            ));
        };
        let snippet = terms.snippet(&message.readable_text());
        items.push(SearchHit::new(chat, node.id.clone(), (role, node.created_at), score, snippet));
    }
    Ok(Page { items, next })
}

/// Returns the hits of the page, and one more if there is one.
async fn find(
    session: &mut Session<'_>,
    query: &SearchQuery,
    terms: &Terms,
    after: Option<(f64, i64)>,
) -> Result<Vec<IndexHit>> {
    let mut scope = None;
    let (statement, branch) = match &query.scope {
        SearchScope::User => (sql::HITS_OF_USER, None),
        SearchScope::Chat(chat) => {
            scope = Some(chat);
            (sql::HITS_OF_CHAT, None)
        }
        SearchScope::Branch(chat, branch) => {
            scope = Some(chat);
            (sql::HITS_OF_BRANCH, Some(branch))
        }
        _ => {
            return Err(Error::invalid(
                OPERATION,
                "this store does not support the scope of the search",
            )
            .into());
        }
    };
    let number = match scope {
        None => None,
        Some(chat) => Some(
            chat_no(session, OPERATION, &ChatRef::new(query.user.clone(), chat.clone())).await?,
        ),
    };
    if let (Some(number), Some(branch)) = (number, branch)
        && find_branch(session, number, branch).await?.is_none()
    {
        return Err(Error::not_found(OPERATION, "branch", branch).into());
    }
    if terms.is_empty() {
        return Ok(Vec::new());
    }
    let all = [Role::Assistant, Role::User, Role::Tool, Role::System];
    let roles = if query.roles.is_empty() { &all[..] } else { &query.roles };
    let roles: Vec<i16> = roles.iter().map(|role| role_number(*role)).collect();
    let (all_phrases, texts, each) = parameters(&query.user, terms);
    let mut hits = session
        .query(statement)
        .bind(all_phrases)
        .bind(texts)
        .bind(each)
        .bind(query.user.as_str().as_bytes())
        .bind(roles)
        .bind(after.map(|(score, _)| score))
        .bind(after.map(|(_, place)| place))
        .bind(signed(query.limit.saturating_add(1)));
    if let Some(number) = number {
        hits = hits.bind(number);
    }
    if let Some(branch) = branch {
        hits = hits.bind(branch.as_str().as_bytes());
    }
    let mut found = Vec::new();
    for row in session.all(hits).await? {
        let chat = ChatRef::new(text(&row, 3)?, text(&row, 2)?);
        found.push(IndexHit { place: row.try_get(0)?, score: row.try_get(1)?, chat });
    }
    Ok(found)
}

fn parse_cursor(cursor: &Cursor) -> Result<(f64, i64)> {
    let place = cursor.as_str().split_once(':').and_then(|(score, place)| {
        let score = f64::from_bits(score.parse().ok()?);
        Some((score, place.parse().ok()?)).filter(|_| score.is_finite())
    });
    place.ok_or_else(|| bad_cursor(OPERATION).into())
}

/// Returns an index query for messages that may have these phrases. Nothing in the user's input
/// has a syntactic meaning.
fn index_query<'a>(tag: &Tag, phrases: impl IntoIterator<Item = &'a Phrase>) -> String {
    let mut query = String::new();
    for phrase in phrases {
        for (i, word) in phrase.words.iter().enumerate() {
            query.push_str(if query.is_empty() { "(" } else { " & " });
            query.push('\'');
            query.push_str(tag.as_str());
            query.push_str(word);
            query.push('\'');
            if phrase.prefix && i + 1 == phrase.words.len() {
                query.push_str(":*");
            }
        }
    }
    format!("{query}) | '{}'", tag.as_str())
}

/// Returns a phrase as it occurs in a text of words.
fn phrase_text(phrase: &Phrase) -> String {
    let mut phrase_text = String::new();
    for word in &phrase.words {
        phrase_text.push(' ');
        phrase_text.push_str(word);
        phrase_text.push(' ');
    }
    if phrase.prefix {
        phrase_text.pop();
    }
    phrase_text
}

/// Returns the parameters of a search: the query for all phrases, the text of each phrase, and the
/// query for each.
fn parameters(user: &UserId, terms: &Terms) -> (String, Vec<String>, Vec<String>) {
    let tag = Tag::of(user);
    let phrases = terms.phrases();
    let each = phrases.iter().map(|phrase| index_query(&tag, [phrase])).collect();
    (index_query(&tag, phrases), phrases.iter().map(phrase_text).collect(), each)
}
