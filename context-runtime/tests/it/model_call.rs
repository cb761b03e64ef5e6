//! The driver of model calls: what it sends, how it handles refusals, and that it terminates.

#[cfg(all(feature = "summarize", feature = "microcompact"))]
mod ahead;
#[cfg(all(feature = "summarize", feature = "snip"))]
mod at_provider;
#[cfg(feature = "summarize")]
mod continued;
mod endings;
#[cfg(feature = "summarize")]
mod kept_summaries;
pub(crate) mod models;
mod refusals;
mod runtimes;
mod summaries;

use std::sync::Arc;

use context_runtime::{Message, Part, PrepareInput, Role};

/// Returns a conversation of this many steps, each with a result of a few hundred tokens.
fn history(steps: usize) -> Vec<Arc<Message>> {
    let mut messages = vec![Arc::new(Message::from("Find out why the build fails."))];
    for step in 0..steps {
        let id = format!("call_{step}");
        let input = serde_json::json!({"path": format!("src/file_{step}.rs")});
        let call = Message::new(
            Role::Assistant,
            [Part::text("Next."), Part::tool_call(&id, "read", input)],
        );
        let lines: String =
            (0..40).map(|line| format!("{line}: let value_{line} = step_{step};\n")).collect();
        messages.push(Arc::new(call));
        messages.push(Arc::new(Message::new(Role::Tool, [Part::tool_result(&id, lines)])));
    }
    messages.push(Arc::new(Message::text(Role::Assistant, "It is the linker.")));
    messages.push(Arc::new(Message::from("And why only on Fridays?")));
    messages
}

fn input(provider: &str, history: &[Arc<Message>]) -> PrepareInput {
    PrepareInput::new(("ada", "s"), "t", provider, "gpt-4o")
        .messages(history.iter().map(Arc::clone))
}

/// Whether a request still has the user's first and last requests.
fn has_both_requests(messages: &[Arc<Message>], history: &[Arc<Message>]) -> bool {
    let texts: Vec<_> = messages.iter().map(|message| message.plain_text()).collect();
    let has = |request: &Message| texts.iter().any(|text| text.contains(&*request.plain_text()));
    let last = history.iter().rev().find(|message| message.is_request()).unwrap();
    has(&history[0]) && has(last)
}
