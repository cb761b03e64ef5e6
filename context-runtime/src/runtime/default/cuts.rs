//! The cuts of a session: applied compactions, pending summaries, and when to stop compacting.

use std::sync::Arc;

use context_core::history::{HistoryRewrite, HistoryView, Structure, SummaryError, SummaryTask};
use context_core::message::MessageHash;
use context_core::model::TokenCounter;
use context_core::runtime::{CutOwner, PrepareInput};
use context_core::{Answer, CompactionPolicy, Message, Messages, Timestamp};

use super::fingerprint::PrefixFingerprint;
use crate::runtime::history::CallHistory;
use crate::runtime::pipeline::PlannedSummary;

/// The number of consecutive futile compactions that stops further ones.
const FUTILE: u32 = 3;

/// The cuts of a session.
#[derive(Debug, Default)]
pub(super) struct Cuts {
    /// The cuts that are applied to every conversation with the same beginning. `None` if the
    /// caller owns them.
    kept: Option<AppliedCut>,
    pub(super) pending: Option<PendingSummary>,
    /// The number of futile compactions in a row, and the user request they were for.
    futile: u32,
    request: Option<(String, MessageHash)>,
    /// Until when no summary is requested.
    pause: Option<Timestamp>,
    /// Whether there is no summary ahead of its need for the newest request: the policy has none,
    /// or an observer refused it.
    pub(super) refused_ahead: bool,
    /// A compaction that was asked for, with instructions for its summary.
    pub(super) requested: Option<String>,
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

/// A rewrite that replaces the beginning of given conversations.
#[derive(Debug)]
struct AppliedCut {
    covered: PrefixFingerprint,
    rewrite: HistoryRewrite,
}

/// A requested summary and the history that it covers.
#[derive(Debug)]
pub(super) struct PendingSummary {
    covered: PrefixFingerprint,
    rewrite: HistoryRewrite,
    policy: &'static str,
    /// The target size of the history in tokens.
    target: u64,
    owner: CutOwner,
}

impl Cuts {
    /// Returns the history of a call with the cuts that are in force: those that the caller passed,
    /// or else those that the session keeps.
    pub(super) fn history(&mut self, input: &mut PrepareInput) -> CallHistory {
        let given = std::mem::take(&mut input.request.messages);
        let rewrite = match (input.rewrite.take(), input.cuts) {
            (None, CutOwner::Runtime) => self.kept_for(&given, &input.provider),
            (rewrite, _) => rewrite,
        };
        CallHistory::new(given, rewrite)
    }

    /// Returns the kept cuts if they were made of the beginning of this conversation, and the
    /// provider can read what they hold. A longer conversation with another beginning ends them. A
    /// shorter one does not: a caller that continues with what was left may return to the
    /// conversation before. Neither does another provider: the next call may be for the one that
    /// can read them.
    fn kept_for(&mut self, given: &Messages, provider: &str) -> Option<HistoryRewrite> {
        let kept = self.kept.as_ref()?;
        if Structure::is_sealed_for(&kept.rewrite.messages, provider) {
            return None;
        }
        if kept.covered.begins(given) {
            return Some(kept.rewrite.clone());
        }
        if given.len() >= kept.covered.len() {
            self.kept = None;
        }
        None
    }

    /// Returns the beginning of the given conversation that the kept cuts replace.
    pub(super) fn covered(&self) -> Option<&PrefixFingerprint> {
        self.kept.as_ref().map(|kept| &kept.covered)
    }

    /// Keeps the cuts of a history, unless the caller does. `covered` is the given conversation.
    pub(super) fn keep(
        &mut self,
        rewrite: &HistoryRewrite,
        covered: PrefixFingerprint,
        owner: CutOwner,
    ) {
        self.fresh = true;
        match owner {
            CutOwner::Caller => self.kept = None,
            _ => self.take_over(rewrite, covered),
        }
    }

    /// Keeps cuts that the caller made.
    pub(super) fn take_over(&mut self, rewrite: &HistoryRewrite, covered: PrefixFingerprint) {
        self.kept = Some(AppliedCut { covered, rewrite: rewrite.clone() });
    }

    /// Records that a summary was requested of a history. `covered` is the given conversation.
    pub(super) fn ask(
        &mut self,
        history: &CallHistory,
        covered: PrefixFingerprint,
        summary: &PlannedSummary,
        owner: CutOwner,
    ) {
        let rewrite = history.then(summary.of.clone());
        let (policy, target) = (summary.task.policy, summary.target);
        self.pending = Some(PendingSummary { covered, rewrite, policy, target, owner });
    }

    /// Applies the answer to a requested summary. Messages that were added since follow the
    /// summary.
    pub(super) fn accept(
        &mut self,
        messages: &Messages,
        (task, answer): (&SummaryTask, &Answer),
        policy: &dyn CompactionPolicy,
        counter: &dyn TokenCounter,
    ) -> Result<HistoryRewrite, SummaryError> {
        let pending = self.pending.as_ref().filter(|pending| pending.policy == task.policy);
        let pending = pending.ok_or(SummaryError::NotAsked)?;
        if !pending.covered.begins(messages) {
            return Err(SummaryError::Stale);
        }
        let view = HistoryView::new(&pending.rewrite.messages, counter);
        let plan = policy.accept(&view, task, answer)?;
        let mut rewrite = pending.rewrite.apply(&plan)?;
        self.count(plan.before, plan.after);
        let Some(pending) = self.pending.take() else { return Err(SummaryError::NotAsked) };
        self.missed = (plan.after > pending.target).then_some((plan.after, pending.target));
        self.weak = missing_of(&rewrite.messages);
        self.keep(&rewrite, pending.covered, pending.owner);
        (self.pause, self.failed) = (None, false);
        rewrite.resume(messages);
        Ok(rewrite)
    }

    /// Records a failed summary. No other is requested until the given time.
    pub(super) fn pause(&mut self, until: Timestamp) {
        (self.pause, self.failed) = (Some(until), true);
    }

    /// Whether a summary may be requested.
    pub(super) fn may_ask(&self, now: Timestamp) -> bool {
        self.pause.is_none_or(|until| now >= until)
    }

    /// Whether the last summary that was requested failed, and none was accepted since.
    pub(super) fn has_failed(&self) -> bool {
        self.pause.is_some()
    }

    /// Records the newest user request. A new request resets the count of futile compactions.
    pub(super) fn requested(&mut self, turn: &str, request: Option<MessageHash>) {
        let Some(request) = request else { return };
        if self.request.as_ref().is_none_or(|(known, hash)| known != turn || *hash != request) {
            self.request = Some((turn.to_owned(), request));
            (self.futile, self.refused_ahead) = (0, false);
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
