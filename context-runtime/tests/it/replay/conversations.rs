//! The conversations that are played again.

use context_conformance::conversations::{Conversation, conversations, joined};
use context_conformance::recordings::folder;

use crate::simulator::Quarters;

/// All that there are; none without test data.
pub(super) fn recorded() -> Vec<Conversation> {
    let all = folder().map(|folder| conversations(&folder)).unwrap_or_default();
    all.into_iter().filter(|conversation| !conversation.messages.is_empty()).collect()
}

/// One of so many tokens, made of all of them, one behind the other and again from the beginning;
/// nothing without test data.
pub(super) fn long(tokens: u64) -> Option<Conversation> {
    let all = recorded();
    let mut long = all.first()?.clone();
    long.messages = joined(&all, tokens, &Quarters);
    long.name = format!("{tokens} tokens");
    Some(long)
}
