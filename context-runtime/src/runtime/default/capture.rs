//! Capture: passing the messages of a turn to the memory.

use std::borrow::Cow;
use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use context_core::base::{DiagnosticCode, Severity};
use context_core::memory::{CapturedMessage, CapturedTurn, MemoryScope};
use context_core::message::{MessageHash, Origin};
use context_core::runtime::CaptureTurnInput;
use context_core::{Diagnostic, Error, MemoryProvider, Message, MessageId, Result, Timestamp};
use futures_util::future::{Either, select};

use super::parts::Parts;
use super::session::{Session, lock};

/// The maximum time in which a memory must store a turn.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Reports that there is no memory to pass a turn to.
pub(super) fn disabled() -> Diagnostic {
    let text = "the turn was not captured: the runtime has no memory; add one with `memory`, or call \
        `capture_turn` only if `captures_turns`";
    Diagnostic::new(DiagnosticCode::MemoryDisabled, Severity::Info, "memory", text)
}

/// Refuses a turn of a user that is not served, and one with nodes for only some of its messages.
pub(super) fn check(parts: &Parts, input: &CaptureTurnInput) -> Result<()> {
    const OPERATION: &str = "capture_turn";
    parts.check_chat(OPERATION, &input.turn.chat)?;
    let (nodes, messages) = (input.nodes.messages().len(), input.messages.len());
    if input.nodes.is_empty() || nodes == messages {
        return Ok(());
    }
    let text = "each message needs its node, or none has one";
    Err(Error::invalid(OPERATION, text).with("nodes", nodes).with("messages", messages))
}

/// Passes the messages that are new since the last capture of the chat to the memory. Synthetic and
/// carried-over messages are left out, and so are recalled texts within a message.
pub(super) async fn capture(
    memory: &dyn MemoryProvider,
    scope: MemoryScope,
    now: Timestamp,
    session: &Mutex<Session>,
    input: CaptureTurnInput,
) -> Vec<Diagnostic> {
    if input.cancel.is_cancelled() {
        return Vec::new();
    }
    let known = {
        let session = lock(session);
        // A history that was compacted or edited since begins differently.
        match session.captured.begins(&input.messages) {
            true => session.captured.len(),
            false => session.captured.reaches(&input.messages),
        }
    };
    let is_news = |message: &Arc<Message>| message.origin() == Origin::Author;
    let news = input.messages.range(known..).zip(names(&input, known));
    let news = news.filter(|(message, _)| is_news(message));
    let without_recall = |message: &Arc<Message>| match message.without_recall() {
        Cow::Borrowed(_) => Arc::clone(message),
        Cow::Owned(message) => Arc::new(message),
    };
    let news: Vec<_> = news
        .map(|(message, name)| CapturedMessage::new(name, without_recall(message)).at(now))
        .collect();
    if !news.is_empty() {
        let mut turn = CapturedTurn::new(scope, input.turn.id, now, news);
        turn.errored = input.errored;
        let kept = pin!(tokio::time::timeout(TIMEOUT, memory.capture(&turn, &input.cancel)));
        let failure = match select(kept, pin!(input.cancel.cancelled())).await {
            Either::Left((Ok(Ok(())), _)) => None,
            Either::Left((Ok(Err(error)), _)) => {
                Some(format!("the turn was not captured: {error}"))
            }
            Either::Left((Err(_), _)) => {
                Some(format!("the turn was not captured within {TIMEOUT:?}"))
            }
            Either::Right(_) => return Vec::new(),
        };
        // After a failure the same messages are captured again next time.
        if let Some(text) = failure {
            let code = DiagnosticCode::MemoryProviderError;
            return vec![Diagnostic::new(code, Severity::Warning, "memory", text)];
        }
    }
    lock(session).capture(&input.messages);
    Vec::new()
}

/// Returns the ids of the messages from a position on. Messages without ids are named by their
/// content hash and the number of equal messages before them, so that a message gets the same id
/// each time, independent of the other messages passed with it.
fn names(input: &CaptureTurnInput, from: usize) -> Vec<MessageId> {
    let wanted = input.messages.len() - from;
    let named = input.nodes.iter().rev().filter(|node| node.message().is_ok());
    let mut ids: Vec<_> = named.take(wanted).map(|node| node.id.clone()).collect();
    if !input.nodes.is_empty() {
        ids.reverse();
        return ids;
    }
    let mut seen: HashMap<MessageHash, u32> = HashMap::new();
    let name = |message: &Arc<Message>| {
        let hash = message.hash();
        let before = seen.entry(hash).or_default();
        *before += 1;
        let name = hash.to_string();
        MessageId::from(if *before == 1 { name } else { format!("{name}-{before}") })
    };
    input.messages.iter().map(name).skip(from).collect()
}
