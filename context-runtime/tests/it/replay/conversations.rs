//! The conversations that are replayed.

use context_simulator::conversations::{Conversation, conversations, joined};
use context_simulator::recordings::folder;

use crate::simulator::QuarterCounter;

/// Returns all of them. Empty without test data.
pub(super) fn recorded() -> Vec<Conversation> {
    let all = folder().map(|folder| conversations(&folder)).unwrap_or_default();
    all.into_iter().filter(|conversation| !conversation.messages.is_empty()).collect()
}

/// Returns one of this many tokens, concatenated from all of them, repeated as needed. `None`
/// without test data.
pub(super) fn long(tokens: u64) -> Option<Conversation> {
    let all = recorded();
    let mut long = all.first()?.clone();
    long.messages = joined(&all, tokens, &QuarterCounter);
    long.name = format!("{tokens} tokens");
    Some(long)
}
