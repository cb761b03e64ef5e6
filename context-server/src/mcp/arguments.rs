//! The arguments of the tools, whose schemas models read.

use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListChats {
    /// The cursor that the page before ended with.
    pub(super) after: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchHistory {
    /// The words. A message has to have all of them; the last may be the beginning of a word.
    pub(super) query: String,
    /// Search this chat only.
    pub(super) chat: Option<String>,
    /// The cursor that the page before ended with.
    pub(super) after: Option<String>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadMessages {
    /// The chat.
    pub(super) chat: String,
    /// The branch. Default: the active one.
    pub(super) branch: Option<String>,
    /// The number of the first message, from 1. Default: as many as fit up to the last.
    pub(super) first: Option<u64>,
    /// The number of the last message. Default: as many as fit from the first on, or the newest.
    pub(super) last: Option<u64>,
    /// One message to read instead, on any branch: its id, as search names it, or its number.
    pub(super) message: Option<String>,
    /// For one long message: the byte to begin with.
    pub(super) offset: Option<usize>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Recall {
    /// The request or question for which memories are wanted.
    pub(super) query: String,
    /// The most tokens of all memories together. Default: 2000.
    pub(super) tokens: Option<u64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Remember {
    /// The text to keep, word for word. It should make sense without this conversation.
    pub(super) text: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Forget {
    /// The memory, as `recall` names it.
    pub(super) id: String,
    /// The scope of the memory. Needed only if an answer of `forget` asks for it.
    pub(super) scope: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Fork {
    /// The chat.
    pub(super) chat: String,
    /// The last message that the copy has, by id or number. Default: the newest.
    pub(super) message: Option<String>,
    /// The name of the new chat.
    pub(super) to: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ContextStatus {
    /// The chat.
    pub(super) chat: String,
    /// The branch. Default: the active one.
    pub(super) branch: Option<String>,
    /// The model whose window and token counter are used.
    pub(super) model: String,
    /// The window in tokens, if it is not the model's.
    pub(super) window: Option<u64>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Compact {
    /// The chat.
    pub(super) chat: String,
    /// The branch. Default: the active one.
    pub(super) branch: Option<String>,
    /// The model whose window is to be made room in.
    pub(super) model: String,
    /// The window in tokens, if it is not the model's.
    pub(super) window: Option<u64>,
}
