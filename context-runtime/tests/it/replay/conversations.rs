//! The conversations that are replayed.

use context_simulator::conversations::{Conversation, conversations, joined};
use context_simulator::recordings::folder;

use crate::simulator::QuarterCounter;

/// Returns all of them.
pub(super) fn recorded() -> Vec<Conversation> {
    let all = conversations(&folder().expect("test data"));
    all.into_iter().filter(|conversation| !conversation.messages.is_empty()).collect()
}

/// Returns one of this many tokens, concatenated from all of them, repeated as needed.
pub(super) fn long(tokens: u64) -> Conversation {
    let all = recorded();
    let mut long = all.first().expect("a conversation").clone();
    long.messages = joined(&all, tokens, &QuarterCounter);
    long.name = format!("{tokens} tokens");
    long
}
