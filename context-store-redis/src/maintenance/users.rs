//! Listing the users who have a chat, a round or a memory, page by page.
//!
//! There is no list of all users. It would be one key that every creation in a cluster writes to. A
//! page of users scans all keys and reads one key of each user to get the user's id.

use std::collections::{BTreeSet, HashMap};

use context_core::UserId;
use context_core::store::{Cursor, Page};

use crate::chat::snapshot::ChatHeader;
use crate::connections::shared::Shared;
use crate::error::Result;
use crate::keys::Keys;
use crate::memories::scopes::read_scope;
use crate::rounds::fields::read_head;

/// Lists the users who have a chat, a round or a memory.
pub(crate) async fn users(
    shared: &Shared,
    limit: usize,
    after: Option<&Cursor>,
) -> Result<Page<UserId>> {
    let mut theirs: HashMap<String, Vec<String>> = HashMap::new();
    let keys = &shared.keys;
    for pattern in [keys.pattern_of_counts(), keys.pattern_of_rounds(), keys.pattern_of_chats()] {
        for key in shared.connection.scan(&pattern).await? {
            let Ok(key) = String::from_utf8(key) else { continue };
            if let Some(user) = Keys::user_of(&key) {
                theirs.entry(user.to_owned()).or_default().push(key);
            }
        }
    }
    let mut users = BTreeSet::new();
    // A key that was deleted meanwhile does not tell its user. The next key of the same user may.
    while !theirs.is_empty() {
        let asked: Vec<(String, String)> = theirs
            .iter_mut()
            .filter_map(|(user, keys)| Some((user.clone(), keys.pop()?)))
            .collect();
        theirs.retain(|_, keys| !keys.is_empty());
        let keys = asked.iter().map(|(_, key)| key.clone()).collect();
        // The fields belong to chats, to rounds, and to the counters of a scope of memories.
        let found = shared.connection.fields_of_all(keys, &["m", "h", "scope"]).await?;
        for ((hash, _), values) in asked.iter().zip(found) {
            let user = match &values[..] {
                [Some(about), ..] => ChatHeader::read(about)?.chat.user,
                [_, Some(head), _] => read_head(head)?.round.agent.user,
                [.., Some(scope)] => read_scope(scope)?.user,
                _ => continue,
            };
            users.insert(user);
            theirs.remove(hash);
        }
    }
    let behind = |user: &UserId| after.is_none_or(|after| user.as_str() > after.as_str());
    let mut items: Vec<UserId> = users.into_iter().filter(behind).take(limit + 1).collect();
    let more = items.len() > limit;
    items.truncate(limit);
    let next = items.last().filter(|_| more).map(|last| Cursor::new(last.as_str()));
    Ok(Page { items, next })
}
