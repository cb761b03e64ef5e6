//! Invariants of every request.

use std::sync::Arc;

use context_runtime::{Message, ModelContext};

/// The previous request.
#[derive(Debug, Default)]
pub(super) struct PreviousRequest {
    hash: String,
    messages: Vec<Arc<Message>>,
}

/// Checks a request that was prepared from a history. `cut` says whether plans were applied since
/// the previous request, or a summary accepted.
#[track_caller]
pub(super) fn check(
    context: &ModelContext,
    first: &Message,
    history: &[Arc<Message>],
    before: &PreviousRequest,
    cut: bool,
) {
    assert_eq!(context.fits(), Some(true), "{:?} {:#?}", context.breakdown, context.diagnostics);
    let requests: Vec<_> =
        context.request.messages.iter().filter(|message| message.is_request()).collect();
    let newest = history.iter().rev().find(|message| message.is_request());
    if let Some(newest) = newest {
        assert!(same(requests[0], first), "the first request is missing");
        assert!(same(requests[requests.len() - 1], newest), "the newest request is missing");
    }
    if before.hash.is_empty() {
        return;
    }
    let grown = before.messages.len() <= context.request.messages.len()
        && before
            .messages
            .iter()
            .zip(&context.request.messages)
            .all(|(old, new)| Arc::ptr_eq(old, new) || old == new);
    assert!(grown || cut, "the beginning changed and nothing was cut: {:#?}", context.diagnostics);
    assert_eq!(grown, context.prefix.intact, "{:#?}", context.prefix);
    assert_eq!(
        context.prefix.shared.as_deref() == Some(&*before.hash),
        grown,
        "{:#?}",
        context.prefix
    );
}

/// Returns the record of this context's request.
pub(super) fn remembered(context: &ModelContext) -> PreviousRequest {
    PreviousRequest {
        hash: context.prefix.hash.clone(),
        messages: context.request.messages.to_vec(),
    }
}

/// Whether a message is this one, or a form of it that was shortened inside.
fn same(message: &Message, original: &Message) -> bool {
    let (now, then) = (message.plain_text(), original.plain_text());
    now == then || now.chars().take(BEGINNING).eq(then.chars().take(BEGINNING))
}

/// The number of characters of a request that stay, however it is shortened.
const BEGINNING: usize = 40;

/// Whether a body contains the beginning of a message.
pub(super) fn says(body: &str, message: &Message) -> bool {
    let beginning: String = message.plain_text().chars().take(BEGINNING).collect();
    let written = serde_json::Value::from(beginning).to_string();
    body.contains(written.trim_matches('"').trim_end_matches('\\'))
}
