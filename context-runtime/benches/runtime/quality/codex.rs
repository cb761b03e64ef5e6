//! The rules of Codex, as far as its public sources tell.
//!
//! Sources: openai/codex, `codex-rs/core/src/compact.rs` at e06dd0e5, `auto_compact_token_limit`
//! of `codex-rs/protocol/src/openai_models.rs` at 0d4367d0, `codex-rs/models-manager/models.json`
//! at 069e6b19.
//!
//! * Above nine tenths of the window the history is compacted: before the next request of the user
//!   is added, or in the middle of a turn.
//! * The summary is asked for by the conversation itself with one more message of the user. If that
//!   does not fit, the oldest message goes, one by one.
//! * What is left: the newest messages of the user, up to 20,000 tokens, the oldest of them
//!   shortened, and behind them the summary. Answers, calls and results go.
//! * A result of a tool keeps its first and last 5,000 tokens.
//!
//! 20,000 tokens belong to windows of 272,000 and more. For smaller windows than 80,000 the bench
//! takes a quarter of the window, since nothing else would fit.
//! Codex may also leave the compaction to its provider, which nobody can repeat here.

use std::sync::Arc;

use context_runtime::{Message, Role};

use super::chat::{Chat, both_ends, with_results};

const USER_TOKENS: u64 = 20_000;
/// Half of the longest result, in bytes: four bytes for a token.
const HALF_RESULT: usize = 5_000 * 4;
const ASK: &str = "The context is nearly full. Write a summary for another model that goes on with \
     this task: what was done and decided, constraints and wishes of the user, what remains, and \
     data and references that are needed.";
const PREFIX: &str = "Another model began to solve this task and left a summary of its work. You \
     have its tools in the state that it left. Build on its work and do not repeat it. The summary:";

pub(crate) fn arrives(message: &Arc<Message>) -> Arc<Message> {
    with_results(message, |text| both_ends(text, HALF_RESULT, HALF_RESULT, "… truncated …"))
}

/// Compacts if the history has reached the limit. Returns whether it did.
pub(crate) async fn before_call(chat: &mut Chat) -> bool {
    // In the middle of a turn the results that just arrived are part of the history. A new request
    // of the user is added behind the compaction.
    let new = chat.history.iter().rposition(|message| message.role != Role::User);
    let end = new.map_or(0, |at| at + 1);
    if chat.tokens(&chat.history[..end]) < chat.window / 10 * 9 {
        return false;
    }
    compact(chat, end).await
}

/// Compacts what a refusal for length shows to be too long.
pub(crate) async fn refused(chat: &mut Chat) -> bool {
    let end = chat.history.len();
    compact(chat, end).await
}

async fn compact(chat: &mut Chat, end: usize) -> bool {
    let history: Vec<_> = chat.history[..end].to_vec();
    let ask = Arc::new(Message::from(ASK));
    let mut first = 0;
    let summary = loop {
        let asked: Vec<_> = history[first..].iter().chain([&ask]).cloned().collect();
        let system = chat.system.clone();
        if let Some(summary) = chat.summarize_after(&system, &asked).await {
            break summary;
        }
        first += 1;
        // A result without its call is no valid history.
        while history.get(first).is_some_and(|message| message.role == Role::Tool) {
            first += 1;
        }
        if first >= history.len() {
            return false;
        }
    };
    let most = USER_TOKENS.min(chat.window / 4);
    let (mut kept, mut room) = (Vec::new(), most);
    let is_asked = |message: &&Arc<Message>| {
        message.role == Role::User && !message.plain_text().starts_with(PREFIX)
    };
    for message in history.iter().rev().filter(is_asked) {
        let tokens = chat.counter.count_shared(message).tokens();
        if tokens <= room {
            room -= tokens;
            kept.push(Arc::clone(message));
            continue;
        }
        let half = (room * 2) as usize;
        if let Some(short) = both_ends(&message.plain_text(), half, half, "… truncated …") {
            kept.push(Arc::new(Message::from(short)));
        }
        break;
    }
    kept.reverse();
    kept.push(Arc::new(Message::from(format!("{PREFIX}\n{summary}"))));
    kept.extend(chat.history.drain(end..));
    chat.history = kept;
    true
}
