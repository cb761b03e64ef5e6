//! Listing the chats of a user, for stores that can iterate over all chats.

use super::{ChatState, bad_cursor};
use context_core::Result;
use context_core::store::{ChatQuery, ChatSummary, Cursor, Page};

impl ChatState {
    /// Returns the requested page of chats, given all chats of a store.
    pub fn list<'a>(
        states: impl IntoIterator<Item = &'a Self>,
        query: &ChatQuery,
    ) -> Result<Page<ChatSummary>> {
        query.check()?;
        let after = query.after.as_ref().map(parse_cursor).transpose()?;
        let key = |state: &Self| (state.chat.updated_at.as_micros(), state.number);
        let mut listed: Vec<_> = states
            .into_iter()
            .filter(|state| state.chat.chat.user == query.user && query.matches(&state.chat))
            .filter(|state| after.is_none_or(|after| key(state) < after))
            .collect();
        listed.sort_by_key(|state| std::cmp::Reverse(key(state)));
        let more = listed.len() > query.limit;
        listed.truncate(query.limit);
        let next = listed.last().filter(|_| more).map(|last| {
            let (updated, number) = key(last);
            Cursor::new(format!("{updated}:{number}"))
        });
        Ok(Page { items: listed.into_iter().map(Self::summary).collect(), next })
    }
}

fn parse_cursor(cursor: &Cursor) -> Result<(i64, u64)> {
    let key = cursor.as_str().split_once(':');
    let key = key.and_then(|(updated, number)| Some((updated.parse().ok()?, number.parse().ok()?)));
    key.ok_or_else(|| bad_cursor("list_chats"))
}
