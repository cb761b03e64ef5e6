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
        let after = query.after.as_ref().map(place_of).transpose()?;
        let place = |state: &Self| (state.chat.updated_at.as_micros(), state.number);
        let mut found: Vec<_> = states
            .into_iter()
            .filter(|state| state.chat.chat.user == query.user && query.matches(&state.chat))
            .filter(|state| after.is_none_or(|after| place(state) < after))
            .collect();
        found.sort_by_key(|state| std::cmp::Reverse(place(state)));
        let more = found.len() > query.limit;
        found.truncate(query.limit);
        let next = found.last().filter(|_| more).map(|last| {
            let (updated, number) = place(last);
            Cursor::new(format!("{updated}:{number}"))
        });
        Ok(Page { items: found.into_iter().map(Self::summary).collect(), next })
    }
}

fn place_of(cursor: &Cursor) -> Result<(i64, u64)> {
    let place = cursor.as_str().split_once(':');
    let place =
        place.and_then(|(updated, number)| Some((updated.parse().ok()?, number.parse().ok()?)));
    place.ok_or_else(|| bad_cursor("list_chats"))
}
