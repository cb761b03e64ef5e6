//! Recall: memories are asked for once per user turn, and shown to the model as data.

use context_core::message::Origin;
use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;

use context_core::message::{MessageHash, is_blank};

use context_core::base::{DiagnosticCode, Severity, limits};
use context_core::fragment::RenderError;
use context_core::history::shorten;
use context_core::memory::{
    MemoryScope, MemoryUse, RecallQuery, RecalledMemory, recalled_memories,
};
use context_core::model::TokenCounter;
use context_core::runtime::TurnRef;
use context_core::{
    CancelSignal, Diagnostic, ErrorKind, MemoryProvider, Message, Messages, Renderer, Result, Role,
};
use futures_util::future::{Either, select};

use super::parts::Parts;

/// The recall of a turn. An empty or late recall is remembered too, so that the calls of one turn
/// have the same prefix and wait only once.
#[derive(Clone, Debug)]
pub(super) struct TurnRecall {
    pub(super) turn: String,
    pub(super) request: MessageHash,
    pub(super) message: Option<Arc<Message>>,
}

/// The newest recalls of a chat. Sub-agents on branches of the chat have turns of their own, which
/// must not take the recall of the turn that started them: its next request would begin otherwise.
#[derive(Debug, Default)]
pub(super) struct TurnRecalls(VecDeque<TurnRecall>);

impl TurnRecalls {
    /// The most recalls of a chat that are kept.
    const MOST: usize = 16;

    /// Returns the recall of a turn for a request.
    pub(super) fn get(&self, turn: &str, request: &MessageHash) -> Option<&TurnRecall> {
        self.0.iter().find(|known| known.turn == turn && known.request == *request)
    }

    /// Adds a recall. It replaces the turn's one for an earlier request.
    pub(super) fn insert(&mut self, recall: TurnRecall) {
        self.0.retain(|known| known.turn != recall.turn);
        if self.0.len() == Self::MOST {
            self.0.pop_front();
        }
        self.0.push_back(recall);
    }
}

/// Returns the recall query: the text of the newest non-blank request among these positions.
pub(super) fn query(
    scope: MemoryScope,
    messages: &Messages,
    requests: &[usize],
    max_tokens: u64,
) -> Option<RecallQuery> {
    // A program may have kept a request with its recall as its history.
    let requests = requests.iter().rev().filter_map(|at| messages.get(*at));
    let texts = requests.map(|request| request.without_recall().plain_text().into_owned());
    let text = texts.into_iter().find(|text| !is_blank(text))?;
    let mut query = RecallQuery::new(scope, text);
    query.recent = messages.clone();
    query.max_tokens = Some(max_tokens);
    Some(query)
}

/// Asks the memory, up to the timeout. Fails only if it is cancelled.
pub(super) async fn recall(
    parts: &Parts,
    query: &RecallQuery,
    turn: &TurnRef,
    cancel: &CancelSignal,
    counter: &dyn TokenCounter,
) -> Result<(Option<Arc<Message>>, Vec<Diagnostic>)> {
    let Some(memory) = &parts.memory else {
        let text = "nothing was recalled: the runtime has settings of a recall, but no memory; add \
            one with `memory`, or leave the settings out";
        let disabled = diagnostic(DiagnosticCode::MemoryDisabled, Severity::Info, text.to_owned());
        return Ok((None, vec![disabled]));
    };
    let renderer = &parts.recall_renderer;
    let timeout = parts.recall_timeout;
    let asked = pin!(tokio::time::timeout(timeout, memory.recall(query, cancel)));
    let answer = match select(asked, pin!(cancel.cancelled())).await {
        Either::Left((answer, _)) => answer,
        Either::Right(_) => return cancel.check("prepare_for_model").map(|()| (None, Vec::new())),
    };
    // A memory may return early because it was cancelled. Its result is ignored then.
    cancel.check("prepare_for_model")?;
    let failed = |text| {
        (None, vec![diagnostic(DiagnosticCode::MemoryProviderError, Severity::Warning, text)])
    };
    let recalled = match answer {
        Ok(Ok(recalled)) => recalled,
        Ok(Err(error)) => return Ok(failed(format!("nothing was recalled: {error}"))),
        Err(_) => return Ok(failed(format!("nothing was recalled within {timeout:?}"))),
    };
    let mut diagnostics = recalled.diagnostics;
    let mut memories = recalled.memories;
    memories.retain(|memory| !is_blank(&memory.text));
    // A memory from another scope means that the provider has mixed up queries. None of its result
    // is shown.
    let strange = |memory: &RecalledMemory| {
        memory.scope.as_ref().is_some_and(|scope| !query.scope.sees(scope))
    };
    if memories.iter().any(strange) {
        return Ok(failed(
            "nothing was recalled: the memory returned records of another scope".to_owned(),
        ));
    }
    if memories.is_empty() {
        let text = "no memory is worth recalling".to_owned();
        diagnostics.push(diagnostic(DiagnosticCode::MemoryContextEmpty, Severity::Info, text));
        return Ok((None, diagnostics));
    }
    let most = query.max_tokens.unwrap_or(u64::MAX);
    match fitting(&mut memories, &**renderer, most, counter) {
        Ok((message, excess)) => {
            diagnostics.extend(excess);
            let recording = pin!(record_use(parts, query, turn, &memories, &**memory));
            match select(recording, pin!(cancel.cancelled())).await {
                Either::Left((failure, _)) => diagnostics.extend(failure),
                Either::Right(_) => cancel.check("prepare_for_model")?,
            }
            Ok((Some(Arc::new(message)), diagnostics))
        }
        Err(error) => Ok(failed(format!("the recalled memories cannot be rendered: {error}"))),
    }
}

/// Records which memories are shown in this turn, up to the timeout of a recall. The turn goes on
/// without the record.
async fn record_use(
    parts: &Parts,
    query: &RecallQuery,
    turn: &TurnRef,
    memories: &[RecalledMemory],
    memory: &dyn MemoryProvider,
) -> Option<Diagnostic> {
    let review = memory.review()?;
    let named = memories.iter().filter_map(|memory| memory.scope.clone().zip(memory.id.clone()));
    let named: Vec<_> = named.take(limits::MAX_PAGE).collect();
    if named.is_empty() {
        return None;
    }
    let session = query.scope.session.as_ref().map_or(turn.chat.chat.as_str(), |s| s.as_str());
    let memory_use = MemoryUse::new(session, turn.id.as_str(), parts.clock.now(), named);
    let recording = review.record_use(&memory_use);
    let text = match tokio::time::timeout(parts.recall_timeout, recording).await {
        // A memory of another process may have no log of uses.
        Ok(Err(error)) if error.kind() == ErrorKind::Unsupported => return None,
        Ok(Ok(())) => return None,
        Ok(Err(error)) => format!("the use of the recalled memories was not recorded: {error}"),
        Err(_) => {
            let timeout = parts.recall_timeout;
            format!("the use of the recalled memories was not recorded within {timeout:?}")
        }
    };
    Some(diagnostic(DiagnosticCode::MemoryProviderError, Severity::Warning, text))
}

fn diagnostic(code: DiagnosticCode, severity: Severity, text: String) -> Diagnostic {
    Diagnostic::new(code, severity, "memory", text)
}

/// Renders as many memories, best first, as fit into `most` tokens. A single memory that is too
/// long keeps its beginning and end.
fn fitting(
    memories: &mut Vec<RecalledMemory>,
    renderer: &dyn Renderer,
    most: u64,
    counter: &dyn TokenCounter,
) -> Result<(Message, Option<Diagnostic>), RenderError> {
    let all = memories.len();
    let mut message = shown(memories, renderer)?;
    let tokens = counter.count_message(&message).tokens();
    let mut now = tokens;
    while now > most && memories.len() > 1 {
        // Drops memories in proportion to the excess, as if all had the same size; at least one.
        let kept = (memories.len() as u128 * u128::from(most) / u128::from(now.max(1))) as usize;
        memories.truncate(kept.clamp(1, memories.len() - 1));
        message = shown(memories, renderer)?;
        now = counter.count_message(&message).tokens();
    }
    if now > most {
        // The beginning and the end get the same number of bytes, by the average tokens per byte. A
        // text with uneven density nearly always fits too. It is cut once, so that the cut is
        // deterministic.
        let text = std::mem::take(&mut memories[0].text);
        let frame = counter.count_message(&shown(memories, renderer)?).tokens();
        let (room, own) = (most.saturating_sub(frame), now.saturating_sub(frame).max(1));
        let bytes = (text.len() as u128 * u128::from(room) / u128::from(own) / 2) as usize;
        let (head, tail) = shorten::ends(&text, bytes, bytes).unwrap_or((&text, ""));
        memories[0].text = format!("{head}\n[…]\n{tail}");
        message = shown(memories, renderer)?;
    }
    let excess = (tokens > most).then(|| {
        let left = memories.len();
        let text = format!(
            "the recalled memories have {tokens} tokens and were cut to about {most}: {left} of {all} memories"
        );
        diagnostic(DiagnosticCode::OverLimit, Severity::Warning, text)
    });
    Ok((message, excess))
}

/// Renders memories as data that cannot break out of its element.
fn shown(memories: &[RecalledMemory], renderer: &dyn Renderer) -> Result<Message, RenderError> {
    let text = renderer.render(&[recalled_memories(memories)])?;
    Ok(Message::text(Role::User, text).with_origin(Origin::Recall))
}
