//! Full-text search without an index, for stores that can iterate over all chats.

use std::cmp::Reverse;
use std::sync::Arc;

use super::{ChatState, bad_cursor};
use crate::search::{Count, Ranking, Terms};
use context_core::message::Placed;
use context_core::store::{Cursor, Page, SearchHit, SearchQuery, SearchScope};
use context_core::{Error, Node, Result};

/// A matching message, with the data that ranks it.
struct Found<'a> {
    chat: &'a ChatState,
    /// The index among the messages of its chat.
    place: usize,
    node: &'a Arc<Node>,
    text: String,
    count: Count,
}

impl ChatState {
    /// Returns the requested page of hits, given all chats of a store. Reads every message of the
    /// scope.
    pub fn search<'a>(
        states: impl IntoIterator<Item = &'a Self>,
        query: &SearchQuery,
    ) -> Result<Page<SearchHit>> {
        query.check()?;
        let after = query.after.as_ref().map(place_of).transpose()?;
        let terms = Terms::parse(&query.text, query.prefix);
        let mut states: Vec<_> =
            states.into_iter().filter(|state| state.chat.chat.user == query.user).collect();
        if let SearchScope::Chat(chat) | SearchScope::Branch(chat, _) = &query.scope {
            states.retain(|state| state.chat.chat.chat == *chat);
            if states.is_empty() {
                return Err(Error::not_found("search", "chat", chat));
            }
        }
        let mut ranking = Ranking::default();
        let mut found = Vec::new();
        for state in states {
            for placed in state.in_scope(&query.scope)? {
                found.extend(state.look_at(placed, &terms, query, &mut ranking));
            }
        }
        let mut scored: Vec<_> = found
            .into_iter()
            .map(|found| ((ranking.score(&found.count), found.chat.number, found.place), found))
            .filter(|(rank, _)| after.is_none_or(|after| order(rank) < order(&after)))
            .collect();
        scored.sort_by_key(|(rank, _)| Reverse(order(rank)));
        let more = scored.len() > query.limit;
        scored.truncate(query.limit);
        let next = scored.last().filter(|_| more).map(|((score, chat, place), _)| {
            Cursor::new(format!("{}:{chat}:{place}", score.to_bits()))
        });
        let hit = |((score, ..), found): ((f64, u64, usize), Found<'_>)| {
            let (chat, id) = (found.chat.chat.chat.clone(), found.node.id.clone());
            let said = (found.node.role()?, found.node.created_at);
            Some(SearchHit::new(chat, id, said, score, terms.snippet(&found.text)))
        };
        Ok(Page { items: scored.into_iter().filter_map(hit).collect(), next })
    }

    fn in_scope(&self, scope: &SearchScope) -> Result<Vec<&Placed>> {
        match scope {
            SearchScope::Branch(_, branch) => {
                self.path(self.branch("search", branch)?.head.as_ref())
            }
            _ => Ok(self.nodes.iter().collect()),
        }
    }

    fn look_at<'a>(
        &'a self,
        placed: &'a Placed,
        terms: &Terms,
        query: &SearchQuery,
        ranking: &mut Ranking,
    ) -> Option<Found<'a>> {
        let node = &placed.node;
        let role = node.role()?;
        let text = node.message().ok()?.readable_text();
        let count = terms.count(&text);
        ranking.add(&count);
        let fits = count.is_hit() && (query.roles.is_empty() || query.roles.contains(&role));
        let place = *self.index.get(&node.id)?;
        fits.then_some(Found { chat: self, place, node, text, count })
    }
}

/// Returns a sort key: better and newer hits are greater. Scores are positive, so their bits sort
/// like the scores.
fn order((score, chat, place): &(f64, u64, usize)) -> (u64, u64, usize) {
    (score.to_bits(), *chat, *place)
}

fn place_of(cursor: &Cursor) -> Result<(f64, u64, usize)> {
    let mut parts = cursor.as_str().split(':');
    let place = (|| {
        let score = f64::from_bits(parts.next()?.parse().ok()?);
        Some((score, parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    })();
    place.filter(|_| parts.next().is_none()).ok_or_else(|| bad_cursor("search"))
}
