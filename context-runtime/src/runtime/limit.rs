//! The limit of messages: the newest part of a history, with call/result pairs and requests intact.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use context_core::base::{DiagnosticCode, Severity};
use context_core::history::{Anchors, Boundary, BoundaryKind, HistoryRewrite};
use context_core::{Diagnostic, Message, Part, Role};

/// The retained part of a history: the head, pinned messages, the request that the tail belongs to,
/// and the newest messages as the tail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RetainedPart {
    head: usize,
    /// The pinned messages and the request of the tail, ascending.
    between: Vec<usize>,
    tail: Range<usize>,
}

impl RetainedPart {
    /// The number of retained messages.
    pub(super) fn len(&self) -> usize {
        self.head + self.between.len() + self.tail.len()
    }

    fn positions(&self) -> impl Iterator<Item = usize> {
        (0..self.head).chain(self.between.iter().copied()).chain(self.tail.clone())
    }

    /// Returns the history cut to the retained part.
    pub(super) fn of(&self, messages: &[Arc<Message>]) -> HistoryRewrite {
        HistoryRewrite::retain(messages, self.positions())
            .boundary(Boundary::new(BoundaryKind::Compact, self.len()))
    }

    /// Returns the diagnostic that reports the cut.
    pub(super) fn diagnostic(&self, messages: usize) -> Diagnostic {
        let dropped = messages - self.len();
        let text = format!("{dropped} of {messages} messages were left out, the oldest");
        Diagnostic::new(DiagnosticCode::ContextTruncated, Severity::Warning, "messages", text)
    }
}

/// Returns what is retained if at most `max` messages are wanted, or `None` if nothing has to go.
/// Checkpoints and system messages at the front stay and do not count, and neither do pinned
/// messages. A few more messages stay so
/// that no call is separated from its result, and so that the request of the oldest retained
/// message is present: the model should not continue work whose purpose it cannot see.
pub(super) fn limit(messages: &[Arc<Message>], max: usize) -> Option<RetainedPart> {
    let stays = |message: &&Arc<Message>| message.role == Role::System || message.is_checkpoint();
    let head = messages.iter().take_while(stays).count();
    let cut = messages.len().saturating_sub(max.max(1)).max(head);
    if cut == head {
        return None;
    }
    let mut start = whole(messages, head, cut);
    let mut request = None;
    if !messages[start].is_request() {
        request = (head..start).rev().find(|at| messages[*at].is_request());
        if let Some(at) = request
            && messages[at].parts.iter().any(is_result)
        {
            // The request also answers calls, which cannot be left out then.
            start = whole(messages, head, at);
            request = None;
        }
    }
    let mut between: Vec<usize> = request.into_iter().collect();
    if messages[head..start].iter().any(|message| message.is_pinned()) {
        let anchors = Anchors::of(messages);
        between.extend((head..start).filter(|at| anchors.is_verbatim(*at)));
        between.sort_unstable();
        between.dedup();
    }
    let kept = RetainedPart { head, between, tail: start..messages.len() };
    (kept.len() < messages.len()).then_some(kept)
}

fn is_result(part: &Part) -> bool {
    matches!(part, Part::ToolResult(_))
}

/// Returns the newest position, at most `cut`, after which there is no result whose call is
/// before it.
fn whole(messages: &[Arc<Message>], head: usize, cut: usize) -> usize {
    let mut start = cut;
    // Results without their call so far, after `start` and before it. Calls precede their results.
    let (mut waiting, mut outside) = (UnpairedResults::default(), UnpairedResults::default());
    for at in (head..messages.len()).rev() {
        if at < start && waiting.is_empty() {
            break;
        }
        for part in messages[at].parts.iter().rev() {
            match part {
                Part::ToolResult(result) if at < start => outside.add(&result.call_id, 1),
                Part::ToolResult(result) => waiting.add(&result.call_id, 1),
                // A result belongs to the newest call of its id.
                Part::ToolCall(call)
                    if messages[at].role == Role::Assistant
                        && !outside.take(&call.id)
                        && waiting.take(&call.id) =>
                {
                    start = start.min(at);
                    for (id, results) in std::mem::take(&mut outside.0) {
                        waiting.add(id, results);
                    }
                }
                _ => {}
            }
        }
    }
    start
}

/// The number of results per call id that have no call yet.
#[derive(Debug, Default)]
struct UnpairedResults<'a>(HashMap<&'a str, usize>);

impl<'a> UnpairedResults<'a> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn add(&mut self, id: &'a str, results: usize) {
        *self.0.entry(id).or_default() += results;
    }

    /// Takes one waiting result of this call id. Returns whether there was one.
    fn take(&mut self, id: &str) -> bool {
        let Some(results) = self.0.get_mut(id) else { return false };
        *results -= 1;
        if *results == 0 {
            self.0.remove(id);
        }
        true
    }
}
