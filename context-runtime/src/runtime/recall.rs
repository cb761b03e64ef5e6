//! Memories: asked for once for a turn of the user, and shown to the model as what they are.

use context_core::message::is_blank;
use std::pin::pin;
use std::sync::Arc;

use context_core::base::{DiagnosticCode, Severity};
use context_core::fragment::RenderError;
use context_core::history::shorten;
use context_core::memory::recalled_memories;
use context_core::memory::{MemoryScope, RecallQuery, RecalledMemory};
use context_core::message::MessageHash;
use context_core::model::TokenCounter;
use context_core::{CancelSignal, Diagnostic, Message, Renderer, Result, Role};
use futures_util::future::{Either, select};

use super::parts::Parts;

/// The metadata key of the message that holds what was remembered. It is
/// [synthetic](Message::SYNTHETIC) too, and in no history.
pub(super) const RECALL: &str = "recall";

/// What was remembered for a turn. That nothing was, or not in time, is remembered too: the calls
/// of one turn begin alike, and wait once.
#[derive(Clone, Debug)]
pub(super) struct TurnRecall {
    pub(super) turn: String,
    pub(super) request: MessageHash,
    pub(super) message: Option<Arc<Message>>,
}

impl TurnRecall {
    /// Whether it is of this turn and this request.
    pub(super) fn is_of(&self, turn: &str, request: &MessageHash) -> bool {
        self.turn == turn && self.request == *request
    }
}

/// What to remember something about: what the user asked last, of the requests at these positions.
pub(super) fn query(
    scope: MemoryScope,
    messages: &[Arc<Message>],
    requests: &[usize],
    max_tokens: u64,
) -> Option<RecallQuery> {
    let texts = requests.iter().rev().map(|at| messages[*at].plain_text());
    let text = texts.into_iter().find(|text| !is_blank(text))?;
    let mut query = RecallQuery::new(scope, text);
    query.recent = messages.to_vec();
    query.max_tokens = Some(max_tokens);
    Some(query)
}

/// The renderer that is compiled in, if one is; of several the one that models know best.
pub(super) fn default_renderer() -> Option<Arc<dyn Renderer>> {
    #[cfg(feature = "xml")]
    return Some(Arc::new(context_render::XmlRenderer::default()));
    #[cfg(not(feature = "xml"))]
    None
}

/// Asks the memory and waits as long as it may. Fails only if it is cancelled.
pub(super) async fn recall(
    parts: &Parts,
    query: &RecallQuery,
    cancel: &CancelSignal,
    counter: &dyn TokenCounter,
) -> Result<(Option<Arc<Message>>, Vec<Diagnostic>)> {
    let (Some(memory), Some(renderer)) = (&parts.memory, &parts.recall_renderer) else {
        return Ok((None, Vec::new()));
    };
    let timeout = parts.recall_timeout;
    let asked = pin!(tokio::time::timeout(timeout, memory.recall(query, cancel)));
    let answer = match select(asked, pin!(cancel.cancelled())).await {
        Either::Left((answer, _)) => answer,
        Either::Right(_) => return cancel.check("prepare_for_model").map(|()| (None, Vec::new())),
    };
    // A memory that ends early because it was told to has nothing to say.
    cancel.check("prepare_for_model")?;
    let failed = |said| {
        (None, vec![diagnostic(DiagnosticCode::MemoryProviderError, Severity::Warning, said)])
    };
    let recalled = match answer {
        Ok(Ok(recalled)) => recalled,
        Ok(Err(error)) => return Ok(failed(format!("nothing was recalled: {error}"))),
        Err(_) => return Ok(failed(format!("nothing was recalled within {timeout:?}"))),
    };
    let mut diagnostics = recalled.diagnostics;
    let mut memories = recalled.memories;
    memories.retain(|memory| !is_blank(&memory.text));
    // Whoever recalls what was not asked for has mixed up more than one query: nothing of it is
    // shown.
    let strange = |memory: &RecalledMemory| {
        memory.scope.as_ref().is_some_and(|scope| !query.scope.sees(scope))
    };
    if memories.iter().any(strange) {
        return Ok(failed(
            "nothing was recalled: the memory gave what belongs to another scope".to_owned(),
        ));
    }
    if memories.is_empty() {
        let said = "nothing worth telling was remembered".to_owned();
        diagnostics.push(diagnostic(DiagnosticCode::MemoryContextEmpty, Severity::Info, said));
        return Ok((None, diagnostics));
    }
    let most = query.max_tokens.unwrap_or(u64::MAX);
    match fitting(memories, &**renderer, most, counter) {
        Ok((message, said)) => {
            diagnostics.extend(said);
            Ok((Some(Arc::new(message)), diagnostics))
        }
        Err(error) => Ok(failed(format!("what was recalled cannot be shown: {error}"))),
    }
}

fn diagnostic(code: DiagnosticCode, severity: Severity, said: String) -> Diagnostic {
    Diagnostic::new(code, severity, "memory", said)
}

/// As many of the memories, the best first, as have so many tokens; of a single one that is too
/// long, both ends.
fn fitting(
    mut memories: Vec<RecalledMemory>,
    renderer: &dyn Renderer,
    most: u64,
    counter: &dyn TokenCounter,
) -> Result<(Message, Option<Diagnostic>), RenderError> {
    let all = memories.len();
    let mut message = shown(&memories, renderer)?;
    let tokens = counter.count_message(&message).tokens();
    let mut now = tokens;
    while now > most && memories.len() > 1 {
        // As many go at once as are too many if all are alike; at least one.
        let kept = (memories.len() as u128 * u128::from(most) / u128::from(now.max(1))) as usize;
        memories.truncate(kept.clamp(1, memories.len() - 1));
        message = shown(&memories, renderer)?;
        now = counter.count_message(&message).tokens();
    }
    if now > most {
        // A text half as dense in front as behind still fits, nearly always; what counts is that it
        // is cut once, the same way.
        let text = std::mem::take(&mut memories[0].text);
        let frame = counter.count_message(&shown(&memories, renderer)?).tokens();
        let (room, own) = (most.saturating_sub(frame), now.saturating_sub(frame).max(1));
        let bytes = (text.len() as u128 * u128::from(room) / u128::from(own) / 2) as usize;
        let (head, tail) = shorten::ends(&text, bytes, bytes).unwrap_or((&text, ""));
        memories[0].text = format!("{head}\n[…]\n{tail}");
        message = shown(&memories, renderer)?;
    }
    let said = (tokens > most).then(|| {
        let left = memories.len();
        let said = format!(
            "what was recalled has {tokens} tokens and was cut to about {most}: {left} of {all} memories"
        );
        diagnostic(DiagnosticCode::OverLimit, Severity::Warning, said)
    });
    Ok((message, said))
}

/// What was remembered, as data that cannot end its place.
fn shown(memories: &[RecalledMemory], renderer: &dyn Renderer) -> Result<Message, RenderError> {
    let text = renderer.render(&[recalled_memories(memories)])?;
    Ok(Message::text(Role::User, text).marked(Message::SYNTHETIC).marked(RECALL))
}
