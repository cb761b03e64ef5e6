//! Full-text search without an index, for stores that can iterate over all chats.

use std::cmp::Reverse;
use std::sync::Arc;

use super::{ChatState, bad_cursor};
use crate::search::{Count, Ranking, Terms};
use context_core::message::PlacedNode;
use context_core::store::{Cursor, Page, SearchHit, SearchQuery, SearchScope};
use context_core::{Error, Node, Result};

/// A matching message, with the data that ranks it.
struct Candidate<'a> {
    chat: &'a ChatState,
    /// The index among the messages of its chat.
    index: usize,
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
        let after = query.after.as_ref().map(parse_cursor).transpose()?;
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
        let mut candidates = Vec::new();
        for state in states {
            for placed in state.in_scope(&query.scope)? {
                candidates.extend(state.candidate(placed, &terms, query, &mut ranking));
            }
        }
        let mut scored: Vec<_> = candidates
            .into_iter()
            .map(|message| {
                ((ranking.score(&message.count), message.chat.number, message.index), message)
            })
            .filter(|(rank, _)| after.is_none_or(|after| order(rank) < order(&after)))
            .collect();
        scored.sort_by_key(|(rank, _)| Reverse(order(rank)));
        let more = scored.len() > query.limit;
        scored.truncate(query.limit);
        let next = scored.last().filter(|_| more).map(|((score, chat, index), _)| {
            Cursor::new(format!("{}:{chat}:{index}", score.to_bits()))
        });
        let hit = |((score, ..), message): ((f64, u64, usize), Candidate<'_>)| {
            let (chat, id) = (message.chat.chat.chat.clone(), message.node.id.clone());
            let written = (message.node.role()?, message.node.created_at);
            Some(SearchHit::new(chat, id, written, score, terms.snippet(&message.text)))
        };
        Ok(Page { items: scored.into_iter().filter_map(hit).collect(), next })
    }

    fn in_scope(&self, scope: &SearchScope) -> Result<Vec<&PlacedNode>> {
        match scope {
            SearchScope::Branch(_, branch) => {
                self.path(self.branch("search", branch)?.head.as_ref())
            }
            _ => Ok(self.nodes.iter().collect()),
        }
    }

    fn candidate<'a>(
        &'a self,
        placed: &'a PlacedNode,
        terms: &Terms,
        query: &SearchQuery,
        ranking: &mut Ranking,
    ) -> Option<Candidate<'a>> {
        let node = &placed.node;
        let role = node.role()?;
        let text = node.message().ok()?.readable_text();
        let count = terms.count(&text);
        ranking.add(&count);
        let fits = count.is_hit() && (query.roles.is_empty() || query.roles.contains(&role));
        let index = *self.index.get(&node.id)?;
        fits.then_some(Candidate { chat: self, index, node, text, count })
    }
}

/// Returns a sort key: better and newer hits are greater. Scores are positive, so their bits sort
/// like the scores.
fn order((score, chat, index): &(f64, u64, usize)) -> (u64, u64, usize) {
    (score.to_bits(), *chat, *index)
}

fn parse_cursor(cursor: &Cursor) -> Result<(f64, u64, usize)> {
    let mut parts = cursor.as_str().split(':');
    let key = (|| {
        let score = f64::from_bits(parts.next()?.parse().ok()?);
        Some((score, parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
    })();
    key.filter(|_| parts.next().is_none()).ok_or_else(|| bad_cursor("search"))
}
