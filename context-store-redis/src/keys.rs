//! The names of keys.
//!
//! ```text
//! PREFIX{USER.CHAT}:chat2     a chat: one hash, which expires, moves and is deleted as a whole
//! PREFIX{USER.CHAT}:…         other keys of a chat
//! PREFIX{USER}:chats          the list of a user's chats
//! PREFIX{USER}:round2:SESSION.AGENT.ROUND   a round of a trajectory: one hash
//! PREFIX{USER}:rounds         the list of a user's rounds
//! PREFIX{USER}:KIND:SCOPE     the memories of a scope: five keys, of the kinds of `MEMORY`
//! PREFIX{USER}:scopes         the scopes that have records or marks
//! PREFIX{USER}:…              other keys of a user
//! PREFIX{store}:…             numbers of the whole store
//! ```
//!
//! `USER`, `SESSION`, `SCOPE` and `CHAT` are hashes, so any id is valid and a list of keys reveals
//! no id. The part in braces determines the slot of a key in a cluster: all keys of a chat are in
//! one slot, and the chats of a user are in many. The rounds of a user are in one slot together
//! with their indexes, and so are the memories.

use context_core::memory::MemoryScope;
use context_core::trajectory::RoundRef;
use context_core::{ChatId, ChatRef, MessageId, UserId};

/// Builds the names of a store's keys.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    prefix: String,
}

impl Keys {
    pub(crate) fn new(prefix: &str) -> Self {
        Self { prefix: prefix.to_owned() }
    }

    /// Returns the key of a chat's hash.
    pub(crate) fn chat(&self, chat: &ChatRef) -> String {
        self.of_chat(chat, CHAT)
    }

    /// Returns the key of a mark: no chat of this name may be created with a number up to the
    /// marked one, because its entry was removed after the chat was found missing.
    pub(crate) fn swept(&self, chat: &ChatRef) -> String {
        self.of_chat(chat, SWEPT)
    }

    /// Returns a key of a chat, in the slot of the chat.
    pub(crate) fn of_chat(&self, chat: &ChatRef, kind: &str) -> String {
        format!(
            "{}{{{}.{}}}:{kind}",
            self.prefix,
            hash(chat.user.as_str()),
            hash(chat.chat.as_str())
        )
    }

    /// Returns the name of a chat in fields and set members of its user.
    pub(crate) fn name_of(chat: &str) -> String {
        hash(chat)
    }

    /// Returns the key of the user's list of chats.
    pub(crate) fn chats(&self, user: &UserId) -> String {
        self.of_user(user, "chats")
    }

    /// Returns a key of a user.
    pub(crate) fn of_user(&self, user: &UserId, kind: &str) -> String {
        format!("{}{{{}}}:{kind}", self.prefix, hash(user.as_str()))
    }

    /// Returns the key of a round's hash.
    pub(crate) fn round(&self, round: &RoundRef) -> String {
        let RoundRef { agent, round } = round;
        let session = hash(agent.session.as_str());
        format!("{}:{session}.{}.{round}", self.of_user(&agent.user, ROUND), agent.agent)
    }

    /// Returns the name of a chat's message in the index of links.
    pub(crate) fn message(chat: &ChatId, message: &MessageId) -> String {
        hash(format!("{}:{chat}{message}", chat.as_str().len()))
    }

    /// Returns the keys of the user's index of rounds and of the index of links from nodes to
    /// messages.
    pub(crate) fn round_indexes(&self, user: &UserId) -> [String; 2] {
        [self.of_user(user, ROUNDS), self.of_user(user, LINKS)]
    }

    /// Returns the pattern of all rounds of the store.
    pub(crate) fn pattern_of_rounds(&self) -> String {
        self.pattern_of_users(&format!("{ROUND}:*"))
    }

    /// Returns the pattern of all indexes of links.
    pub(crate) fn pattern_of_links(&self) -> String {
        self.pattern_of_users(LINKS)
    }

    /// Whether a key of this store is that of a round.
    pub(crate) fn is_round(&self, key: &[u8]) -> bool {
        let of_round = format!("}}:{ROUND}:");
        key.strip_prefix(self.prefix.as_bytes()).is_some_and(|rest| {
            rest.windows(of_round.len()).any(|part| part == of_round.as_bytes())
        })
    }

    /// Returns the keys of the last place of the user's memories, and of the set of their scopes.
    pub(crate) fn memories(&self, user: &UserId) -> [String; 2] {
        [self.of_user(user, "places"), self.of_user(user, SCOPES)]
    }

    /// Returns the keys of a scope.
    pub(crate) fn memories_of(&self, scope: &MemoryScope) -> [String; 5] {
        self.memories_under(&scope.user, scope.key().as_bytes())
    }

    /// Returns the keys of a scope, given by its name.
    pub(crate) fn memories_under(&self, user: &UserId, scope: &[u8]) -> [String; 5] {
        let scope = hash(scope);
        MEMORY.map(|kind| format!("{}:{scope}", self.of_user(user, kind)))
    }

    /// Returns the pattern of the counters of all scopes of the store.
    pub(crate) fn pattern_of_counts(&self) -> String {
        self.pattern_of_users(&format!("{COUNTS}:*"))
    }

    /// Returns the pattern of the records of all scopes of the store.
    pub(crate) fn pattern_of_memories(&self) -> String {
        self.pattern_of_users(&format!("{RECORDS}:*"))
    }

    /// Returns the key of the counters that belong to a key of records.
    pub(crate) fn counts_beside(key: &str) -> String {
        key.replace(&format!("}}:{RECORDS}:"), &format!("}}:{COUNTS}:"))
    }

    /// Whether a key of this store belongs to a scope of memories.
    pub(crate) fn is_memory(&self, key: &[u8]) -> bool {
        self.kind_under(key).is_some_and(|kind| MEMORY.contains(&kind))
    }

    /// Whether a key of this store holds the counters of a scope.
    pub(crate) fn is_counts(&self, key: &[u8]) -> bool {
        self.kind_under(key) == Some(COUNTS)
    }

    /// Returns the kind of a key of which a user has several.
    fn kind_under<'a>(&self, key: &'a [u8]) -> Option<&'a str> {
        let key = std::str::from_utf8(key).ok()?.strip_prefix(&self.prefix)?;
        Some(key.split_once("}:")?.1.split_once(':')?.0)
    }

    /// Returns a key of the whole store.
    pub(crate) fn of_store(&self, kind: &str) -> String {
        format!("{}{{store}}:{kind}", self.prefix)
    }

    /// Returns the pattern of all keys of the store.
    pub(crate) fn pattern_of_all(&self) -> String {
        format!("{}{{*", escaped(&self.prefix))
    }

    /// Whether a key has the form of this store's keys. No other program writes hashes of names in
    /// braces.
    pub(crate) fn is_ours(&self, key: &[u8]) -> bool {
        let is_hash =
            |name: &str| name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        let tag = std::str::from_utf8(key).ok().and_then(|key| {
            let rest = key.strip_prefix(&self.prefix)?.strip_prefix('{')?;
            Some(rest.split_once("}:")?.0)
        });
        tag.is_some_and(|tag| tag == "store" || tag.split('.').all(is_hash))
    }

    /// Returns the pattern of all keys of a user and of the user's chats.
    pub(crate) fn pattern_of_user(&self, user: &UserId) -> String {
        format!("{}{{{}*", escaped(&self.prefix), hash(user.as_str()))
    }

    /// Returns the pattern of all chats of the store.
    pub(crate) fn pattern_of_chats(&self) -> String {
        format!("{}{{*}}:{CHAT}", escaped(&self.prefix))
    }

    /// Returns the pattern of all keys of this kind, over all users.
    pub(crate) fn pattern_of_users(&self, kind: &str) -> String {
        format!("{}{{*}}:{kind}", escaped(&self.prefix))
    }

    /// Whether a key is that of a chat.
    pub(crate) fn is_chat(key: &[u8]) -> bool {
        key.ends_with(format!("}}:{CHAT}").as_bytes())
    }

    /// Returns the part of a key of a chat or a round that all keys of its user share, and no
    /// others.
    pub(crate) fn user_of(key: &str) -> Option<&str> {
        let (tagged, _) = key.rsplit_once('}')?;
        Some(
            tagged
                .rsplit_once('.')
                .filter(|(user, _)| user.contains('{'))
                .map_or(tagged, |(user, _)| user),
        )
    }

    /// Whether a key holds stored data. The mark of a removed entry is only a number and expires by
    /// itself.
    pub(crate) fn is_record(&self, key: &[u8]) -> bool {
        key.starts_with(self.prefix.as_bytes()) && !key.ends_with(format!("}}:{SWEPT}").as_bytes())
    }
}

/// Kinds whose values gained checksums were renamed, so that older programs do not find them.
pub(crate) const CHAT: &str = "chat2";
const SWEPT: &str = "swept";
pub(crate) const ROUND: &str = "round2";
const ROUNDS: &str = "rounds";
const LINKS: &str = "links";
const SCOPES: &str = "scopes";
pub(crate) const RECORDS: &str = "memory2";
pub(crate) const BLOBS: &str = "blobs2";
pub(crate) const VECTORS: &str = "vectors2";
pub(crate) const REFERENCES: &str = "references2";
/// The kinds of a user's keys for blobs: the bytes, the references and their order.
pub(crate) const BLOB_KINDS: [&str; 3] = [BLOBS, REFERENCES, "referred"];
const COUNTS: &str = "remembered";
/// The keys of each scope of memories: the records, their vectors, the lists by which they are
/// found, the counters, and the marks of forgotten records.
const MEMORY: [&str; 5] = [RECORDS, VECTORS, "recall", COUNTS, "forgotten"];

/// Returns 128 bits of a hash. Nobody can find two ids with the same hash.
fn hash(id: impl AsRef<[u8]>) -> String {
    let mut hex = blake3::hash(id.as_ref()).to_hex().to_string();
    hex.truncate(32);
    hex
}

/// Escapes a text as a pattern that matches only that text.
fn escaped(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '\\' | '^') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_a_chat_are_in_one_place_and_name_nobody() {
        let keys = Keys::new("p*:");
        let chat = ChatRef::new("ada", "a}b{c");
        let (one, two) = (keys.chat(&chat), keys.swept(&chat));
        let tag = |key: &str| key[key.find('{').unwrap()..=key.find('}').unwrap()].to_owned();
        assert_eq!(tag(&one), tag(&two));
        assert!(
            !one.contains("ada") && Keys::is_chat(one.as_bytes()) && !Keys::is_chat(two.as_bytes())
        );
        assert_ne!(one, keys.chat(&ChatRef::new("ad", "aa}b{c")));
        assert_eq!(Keys::user_of(&one), Keys::user_of(&keys.chat(&ChatRef::new("ada", "other"))));
        assert_ne!(Keys::user_of(&one), Keys::user_of(&keys.chat(&ChatRef::new("ad", "a}b{c"))));
        assert!(keys.chats(&chat.user).starts_with("p*:{"));
        let pattern = keys.pattern_of_user(&chat.user);
        assert!(one.starts_with(&pattern.replace('\\', "")[..pattern.len() - 2]), "{pattern}");
        assert!(pattern.starts_with("p\\*:{"));
    }
}
