//! The names of keys.
//!
//! ```text
//! PREFIX{USER.CHAT}:chat      a chat: one hash, so that it expires, moves and goes whole
//! PREFIX{USER.CHAT}:…         what else belongs to a chat
//! PREFIX{USER}:chats          which chats a user has
//! PREFIX{USER}:…              what else belongs to a user
//! PREFIX{store}:…             numbers of the whole store
//! ```
//!
//! `USER` and `CHAT` are hashes, so any id is legal and none is shown to whoever lists keys. What stands in braces
//! says where a key is in a cluster: all of a chat is in one place, and the chats of a user are in many.

use context_core::{ChatRef, UserId};

/// Makes the names of a store's keys.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    prefix: String,
}

impl Keys {
    pub(crate) fn new(prefix: &str) -> Self {
        Self { prefix: prefix.to_owned() }
    }

    /// The hash of a chat.
    pub(crate) fn chat(&self, chat: &ChatRef) -> String {
        self.of_chat(chat, CHAT)
    }

    /// Says up to which number a chat of this name must not be created any more: who swept its entry has seen that
    /// it was not there.
    pub(crate) fn swept(&self, chat: &ChatRef) -> String {
        self.of_chat(chat, SWEPT)
    }

    /// A key of a chat, in the place where the chat is.
    pub(crate) fn of_chat(&self, chat: &ChatRef, kind: &str) -> String {
        format!("{}{{{}.{}}}:{kind}", self.prefix, hash(chat.user.as_str()), hash(chat.chat.as_str()))
    }

    /// What names a chat among those of its user, in fields and members of sets.
    pub(crate) fn name_of(chat: &str) -> String {
        hash(chat)
    }

    /// The chats of a user.
    pub(crate) fn chats(&self, user: &UserId) -> String {
        self.of_user(user, "chats")
    }

    /// A key of a user.
    pub(crate) fn of_user(&self, user: &UserId, kind: &str) -> String {
        format!("{}{{{}}}:{kind}", self.prefix, hash(user.as_str()))
    }

    /// A number of the whole store.
    pub(crate) fn of_store(&self, kind: &str) -> String {
        format!("{}{{store}}:{kind}", self.prefix)
    }

    /// The pattern of all keys of a user: of the user and of every chat.
    pub(crate) fn pattern_of_user(&self, user: &UserId) -> String {
        format!("{}{{{}*", escaped(&self.prefix), hash(user.as_str()))
    }

    /// The pattern of all chats of the store.
    pub(crate) fn pattern_of_chats(&self) -> String {
        format!("{}{{*}}:{CHAT}", escaped(&self.prefix))
    }

    /// The pattern of all keys of this kind of users.
    pub(crate) fn pattern_of_users(&self, kind: &str) -> String {
        format!("{}{{*}}:{kind}", escaped(&self.prefix))
    }

    /// Whether a key is that of a chat.
    pub(crate) fn is_chat(key: &[u8]) -> bool {
        key.ends_with(format!("}}:{CHAT}").as_bytes())
    }

    /// The part of a chat's key that all chats of its user share, and nobody else's.
    pub(crate) fn user_of(key: &str) -> Option<&str> {
        Some(key.rsplit_once('.')?.0)
    }

    /// Whether a key holds something that was written. A mark of a sweep holds a number, and goes by itself.
    pub(crate) fn is_record(&self, key: &[u8]) -> bool {
        key.starts_with(self.prefix.as_bytes()) && !key.ends_with(format!("}}:{SWEPT}").as_bytes())
    }
}

const CHAT: &str = "chat";
const SWEPT: &str = "swept";

/// 128 bits: nobody finds two ids of the same one.
fn hash(id: &str) -> String {
    let mut hex = blake3::hash(id.as_bytes()).to_hex().to_string();
    hex.truncate(32);
    hex
}

/// The text as a pattern that fits it alone.
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
        assert!(!one.contains("ada") && Keys::is_chat(one.as_bytes()) && !Keys::is_chat(two.as_bytes()));
        assert_ne!(one, keys.chat(&ChatRef::new("ad", "aa}b{c")));
        assert_eq!(Keys::user_of(&one), Keys::user_of(&keys.chat(&ChatRef::new("ada", "other"))));
        assert_ne!(Keys::user_of(&one), Keys::user_of(&keys.chat(&ChatRef::new("ad", "a}b{c"))));
        assert!(keys.chats(&chat.user).starts_with("p*:{"));
        let pattern = keys.pattern_of_user(&chat.user);
        assert!(one.starts_with(&pattern.replace('\\', "")[..pattern.len() - 2]), "{pattern}");
        assert!(pattern.starts_with("p\\*:{"));
    }
}
