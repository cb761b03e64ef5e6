//! Full-text search: the index ranks the hits, the messages provide the rest.

pub(crate) mod words;

use std::collections::HashMap;

use context_core::store::{Cursor, Page, SearchHit, SearchQuery, SearchScope};
use context_core::{ChatRef, Error, Role};
use context_store_kit::search::Terms;
use sqlx::Row;

use crate::error::{Fault, Result, bad_cursor};
use crate::history::messages::nodes_at;
use crate::place::signed;
use crate::pool::Session;
use crate::rows::text;
use crate::scope::chat_no;
use crate::{history::branches, sql};

const OPERATION: &str = "search";

/// A hit of the index.
struct Found {
    place: i64,
    score: f64,
    chat: ChatRef,
}

/// Searches messages. All reads see one state of the store.
pub(crate) async fn search(
    session: &mut Session<'_>,
    query: &SearchQuery,
) -> Result<Page<SearchHit>> {
    let after = query.after.as_ref().map(place_of).transpose()?;
    let terms = Terms::parse(&query.text, query.prefix);
    let mut found = find(session, query, &terms, after).await?;
    let more = found.len() > query.limit;
    found.truncate(query.limit);
    let places: Vec<i64> = found.iter().map(|found| found.place).collect();
    let nodes = if places.is_empty() { HashMap::new() } else { nodes_at(session, &places).await? };
    let next = found.last().filter(|_| more);
    let next = next.map(|last| Cursor::new(format!("{}:{}", last.score.to_bits(), last.place)));
    let mut items = Vec::with_capacity(found.len());
    for Found { place, score, chat } in found {
        let node = nodes
            .get(&place)
            .ok_or(Fault::Corrupt("a message that was found is not there", None))?;
        let (Some(role), Ok(message)) = (node.role(), node.message()) else {
            return Err(Fault::Corrupt(
                "the full-text index has words of what is no message",
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
) -> Result<Vec<Found>> {
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
        _ => return Err(Error::invalid(OPERATION, "this store does not know the scope").into()),
    };
    let number = match scope {
        None => None,
        Some(chat) => Some(
            chat_no(session, OPERATION, &ChatRef::new(query.user.clone(), chat.clone())).await?,
        ),
    };
    if let (Some(number), Some(branch)) = (number, branch)
        && branches::branch(session, number, branch).await?.is_none()
    {
        return Err(Error::not_found(OPERATION, "branch", branch).into());
    }
    if terms.is_empty() {
        return Ok(Vec::new());
    }
    let all = [Role::Assistant, Role::User, Role::Tool, Role::System];
    let roles = if query.roles.is_empty() { &all[..] } else { &query.roles };
    let roles: Vec<i16> = roles.iter().map(|role| words::number(*role)).collect();
    let (together, texts, each) = words::search(&query.user, terms);
    let mut hits = session
        .query(statement)
        .bind(together)
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
        found.push(Found { place: row.try_get(0)?, score: row.try_get(1)?, chat });
    }
    Ok(found)
}

fn place_of(cursor: &Cursor) -> Result<(f64, i64)> {
    let place = cursor.as_str().split_once(':').and_then(|(score, place)| {
        let score = f64::from_bits(score.parse().ok()?);
        Some((score, place.parse().ok()?)).filter(|_| score.is_finite())
    });
    place.ok_or_else(|| bad_cursor(OPERATION).into())
}
