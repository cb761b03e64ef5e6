//! The rules of OpenHands, as far as its public sources tell.
//!
//! Sources: OpenHands/software-agent-sdk, `openhands-sdk/openhands/sdk/context/condenser/`
//! `llm_summarizing_condenser.py` at 118402ab, `get_default_condenser` of
//! `openhands-tools/openhands/tools/preset/default.py` at 0fd0ea6f.
//!
//! * With more than 80 events, the first 4 and the newest 35 stay. What is between them, an earlier
//!   summary included, is replaced by a summary, in its place.
//! * If the provider refuses a request for its length, the same is done with half of the events. If
//!   nothing can be left out so, all events are summarised, with their texts shortened by a fifth
//!   up to five times until the request is accepted.
//! * The summary is asked for by one message that quotes the events.
//! * A result of a tool has at most 30,000 characters.
//!
//! An event is taken to be a message; the system prompt is one.

use std::sync::Arc;

use context_runtime::Message;
use context_runtime::model::ModelRequest;

use super::chat::{Chat, both_ends, can_cut, with_results};
use super::values::texts;

const MOST_EVENTS: usize = 80;
const FIRST: usize = 4;
const HALF_RESULT: usize = 15_000;
const ASK: &str = "You keep the state of an agent that works with tools. Write a summary of the \
     events below for it: what the user wants, what is done, what is pending, and the state of \
     code, files and data. Keep what an earlier summary says as far as it holds.";

pub(crate) fn arrives(message: &Arc<Message>) -> Arc<Message> {
    with_results(message, |text| both_ends(text, HALF_RESULT, HALF_RESULT, "… clipped …"))
}

/// Condenses if there are too many events. Returns whether it did.
pub(crate) async fn before_call(chat: &mut Chat) -> bool {
    let events = chat.history.len() + 1;
    events > MOST_EVENTS && condense(chat, MOST_EVENTS / 2).await
}

/// Condenses what a refusal for length shows to be too long.
pub(crate) async fn refused(chat: &mut Chat) -> bool {
    let half = chat.history.len().div_ceil(2);
    condense(chat, half).await || reset(chat).await
}

/// Replaces events so that about this number stays. Returns whether it did.
async fn condense(chat: &mut Chat, target: usize) -> bool {
    let history = &chat.history;
    let newest = target.saturating_sub(FIRST + 1);
    let next = |at: usize| (at..=history.len()).find(|at| can_cut(history, *at));
    // The system prompt is the first event.
    let (Some(start), Some(end)) = (next(FIRST - 1), next(history.len().saturating_sub(newest)))
    else {
        return false;
    };
    if start >= end {
        return false;
    }
    let Some(summary) = summary(chat, start..end, usize::MAX) else { return false };
    chat.history.splice(start..end, [Arc::new(Message::from(summary))]);
    true
}

async fn reset(chat: &mut Chat) -> bool {
    let all = 0..chat.history.len();
    let mut longest = usize::MAX;
    for _ in 0..5 {
        if let Some(summary) = summary(chat, all.clone(), longest) {
            chat.history = vec![Arc::new(Message::from(summary))];
            return true;
        }
        let sizes = chat.history.iter().map(|message| event(message, usize::MAX).len());
        longest = longest.min(sizes.max().unwrap_or(0)) / 5 * 4;
    }
    false
}

fn summary(chat: &mut Chat, events: std::ops::Range<usize>, longest: usize) -> Option<String> {
    let events = chat.history[events].iter().map(|message| event(message, longest));
    let text = format!("{ASK}\n{}", events.collect::<Vec<_>>().join("\n"));
    let request = ModelRequest::new([Message::from(text)]);
    let answer = chat.provider.summarize(&request)?;
    Some(answer.message.plain_text().into_owned())
}

fn event(message: &Message, longest: usize) -> String {
    let text = texts(message).join("\n");
    let half = longest / 2;
    both_ends(&text, half, half, "<TRUNCATED>").unwrap_or(text)
}
