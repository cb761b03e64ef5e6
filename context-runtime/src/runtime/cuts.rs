//! The cuts of a session: applied compactions, pending summaries, and when to stop compacting.

use std::sync::Arc;

use context_core::history::{Compacted, HistoryView, SummaryError, SummaryTask};
use context_core::message::MessageHash;
use context_core::model::TokenCounter;
use context_core::runtime::Boundary;
use context_core::{Answer, CompactionPolicy, Message, Timestamp};

use super::boundary::boundary;
use super::chain::Beginning;

/// The number of consecutive futile compactions that stops further ones.
const FUTILE: u32 = 3;

/// The cuts of a session.
#[derive(Debug, Default)]
pub(super) struct Cuts {
    applied: Option<Applied>,
    asked: Option<Asked>,
    /// The number of futile compactions in a row, and the user request they were for.
    futile: u32,
    request: Option<(String, MessageHash)>,
    /// Until when no summary is requested.
    pause: Option<Timestamp>,
    /// Whether a compaction took place since the last request.
    pub(super) fresh: bool,
    /// Whether a summary failed and this was not reported yet.
    pub(super) failed: bool,
    /// The tokens that a summary left and the tokens that were wanted, if it missed the target and
    /// this was not reported yet.
    pub(super) missed: Option<(u64, u64)>,
    /// The missing parts of an accepted summary, if not reported yet.
    pub(super) weak: Option<String>,
}

/// A compaction that replaces the beginning of the given history.
#[derive(Debug)]
struct Applied {
    covered: Beginning,
    history: Compacted,
    boundaries: Vec<Boundary>,
}

impl Applied {
    /// Whether a history begins with the compacted messages.
    fn begins(&self, given: &[Arc<Message>]) -> bool {
        let left = &self.history.messages;
        let same = |(a, b): (&Arc<Message>, &Arc<Message>)| Arc::ptr_eq(a, b) || a == b;
        given.len() >= left.len() && left.iter().zip(given).all(same)
    }
}

/// A requested summary and its history.
#[derive(Debug)]
struct Asked {
    covered: Beginning,
    history: Compacted,
    boundaries: Vec<Boundary>,
    policy: &'static str,
    /// The target size of the history in tokens.
    target: u64,
}

/// A history to be sent, and how it was derived from the given one.
#[derive(Debug)]
pub(super) struct History {
    pub(super) messages: Vec<Arc<Message>>,
    /// For each message its position in the given history. `None` if all positions are unchanged.
    pub(super) origins: Option<Vec<Option<usize>>>,
    /// The given history, if it differs.
    pub(super) given: Option<Vec<Arc<Message>>>,
    /// The boundaries of the cuts between both.
    pub(super) boundaries: Vec<Boundary>,
    /// Whether a plan is among them.
    pub(super) compacted: bool,
    /// Whether it was just cut to a maximum number of messages.
    pub(super) limited: bool,
}

impl History {
    fn untouched(messages: Vec<Arc<Message>>) -> Self {
        Self {
            messages,
            origins: None,
            given: None,
            boundaries: Vec::new(),
            compacted: false,
            limited: false,
        }
    }

    /// Returns the given history.
    pub(super) fn given(&self) -> &[Arc<Message>] {
        self.given.as_deref().unwrap_or(&self.messages)
    }

    /// Replaces the history by one that was made from it.
    pub(super) fn replace(
        &mut self,
        made: Compacted,
        boundaries: impl IntoIterator<Item = Boundary>,
    ) {
        let origins = match &self.origins {
            Some(first) => made
                .origins
                .into_iter()
                .map(|at| at.and_then(|at| first.get(at).copied().flatten()))
                .collect(),
            None => made.origins,
        };
        self.origins = Some(origins);
        let former = std::mem::replace(&mut self.messages, made.messages);
        self.given.get_or_insert(former);
        self.boundaries.extend(boundaries);
    }

    /// Returns the history in the form that callers keep.
    pub(super) fn as_compacted(&self) -> Compacted {
        let mut compacted = Compacted::untouched(&self.messages);
        if let Some(origins) = &self.origins {
            compacted.origins.clone_from(origins);
        }
        compacted
    }
}

impl Cuts {
    /// Returns the history that replaces the given one. Earlier cuts stay applied, whether or not
    /// the caller keeps the compacted history.
    pub(super) fn history(&mut self, given: Vec<Arc<Message>>) -> History {
        let Some(applied) = &self.applied else { return History::untouched(given) };
        if !applied.covered.begins(&given) {
            // A caller that continues with the compacted history may still return to the one
            // before.
            if !applied.begins(&given) {
                self.applied = None;
            }
            return History::untouched(given);
        }
        let covered = applied.covered.len();
        let mut messages = applied.history.messages.clone();
        messages.extend(given[covered..].iter().map(Arc::clone));
        let mut origins = applied.history.origins.clone();
        origins.extend((covered..given.len()).map(Some));
        let boundaries = applied.boundaries.clone();
        History {
            messages,
            origins: Some(origins),
            given: Some(given),
            boundaries,
            compacted: true,
            limited: false,
        }
    }

    /// Returns the beginning of the given history that the cuts replace.
    pub(super) fn covered(&self) -> Option<&Beginning> {
        self.applied.as_ref().map(|applied| &applied.covered)
    }

    /// Records a history that plans were applied to, and the given beginning it replaces.
    pub(super) fn keep(&mut self, history: &History, covered: Beginning) {
        self.fresh = true;
        self.applied = Some(Applied {
            covered,
            history: history.as_compacted(),
            boundaries: history.boundaries.clone(),
        });
    }

    /// Records that a summary was requested: of which history, and of which beginning of the given
    /// messages.
    pub(super) fn ask(
        &mut self,
        (history, covered): (&History, Beginning),
        of: Compacted,
        before: Vec<Boundary>,
        (task, target): (&SummaryTask, u64),
    ) {
        let mut asked = History {
            messages: history.messages.clone(),
            origins: history.origins.clone(),
            given: None,
            boundaries: history.boundaries.clone(),
            compacted: true,
            limited: false,
        };
        asked.replace(of, before);
        let (boundaries, compacted) = (asked.boundaries.clone(), asked.as_compacted());
        self.asked =
            Some(Asked { covered, history: compacted, boundaries, policy: task.policy, target });
    }

    /// Applies the answer to a requested summary. Messages that were added since follow the
    /// summary.
    pub(super) fn accept(
        &mut self,
        messages: &[Arc<Message>],
        (task, answer): (&SummaryTask, &Answer),
        policy: &dyn CompactionPolicy,
        counter: &dyn TokenCounter,
    ) -> Result<Compacted, SummaryError> {
        let asked = self.asked.as_ref().filter(|asked| asked.policy == task.policy);
        let asked = asked.ok_or(SummaryError::NotAsked)?;
        if !asked.covered.begins(messages) {
            return Err(SummaryError::Stale);
        }
        let view = HistoryView::new(&asked.history.messages, counter);
        let plan = policy.accept(&view, task, answer)?;
        let history = asked.history.apply(&plan)?;
        self.count(plan.before, plan.after);
        let Some(asked) = self.asked.take() else { return Err(SummaryError::NotAsked) };
        self.missed = (plan.after > asked.target).then_some((plan.after, asked.target));
        self.weak = missing_of(&history.messages);
        let mut boundaries = asked.boundaries;
        boundaries.push(boundary(&plan, history.messages.len()));
        self.applied = Some(Applied { covered: asked.covered, history, boundaries });
        (self.fresh, self.pause, self.failed) = (true, None, false);
        Ok(self.history(messages.to_vec()).as_compacted())
    }

    /// Records a failed summary. No other is requested until the given time.
    pub(super) fn pause(&mut self, until: Timestamp) {
        (self.pause, self.failed) = (Some(until), true);
    }

    /// Whether a summary may be requested.
    pub(super) fn may_ask(&self, now: Timestamp) -> bool {
        self.pause.is_none_or(|until| now >= until)
    }

    /// Records the newest user request. A new request resets the count of futile compactions.
    pub(super) fn requested(&mut self, turn: &str, request: Option<MessageHash>) {
        let Some(request) = request else { return };
        if self.request.as_ref().is_none_or(|(known, hash)| known != turn || *hash != request) {
            self.request = Some((turn.to_owned(), request));
            self.futile = 0;
        }
    }

    /// Records the token counts before and after a compaction.
    pub(super) fn count(&mut self, before: u64, after: u64) {
        let came_to_much = before.saturating_sub(after).saturating_mul(10) >= before;
        self.futile = if came_to_much { 0 } else { self.futile + 1 };
    }

    /// Whether compactions have become futile and are stopped.
    pub(super) fn is_stopped(&self) -> bool {
        self.futile >= FUTILE
    }
}

/// Returns what the checkpoint in front of a history lacks by its own account.
fn missing_of(messages: &[Arc<Message>]) -> Option<String> {
    let missing = messages.first()?.missing_from_checkpoint();
    (!missing.is_empty()).then(|| missing.join(", "))
}
