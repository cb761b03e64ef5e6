//! Carrying decisions out.

use context_core::ModelError;
use context_core::history::{Failure, HistoryView, PlanReport, RecoveryDecision};

use context_tokens::ModelTable;

use super::ModelCall;
use crate::observer::{Observer, ProposedCompaction, TurnEvent};
use crate::runtime::USER_WORDS;

/// The policy name in reports of cuts that a refusal caused.
const POLICY: &str = "recovery";
/// The most that is kept when a compaction could not make the history smaller.
const HALF: f64 = 0.5;
/// The least that is kept, since the numbers in a refusal may be wrong.
const LEAST: f64 = 0.25;
/// The smallest window that has room for input and output.
const LEAST_WINDOW: u64 = 2;
/// The share of the room that is filled, since counts are estimates.
const SAFE: f64 = 0.9;

impl ModelCall<'_> {
    /// Carries out the decision about an error. Returns whether that changed anything.
    pub(super) fn carry_out(&mut self, decision: &RecoveryDecision, error: &ModelError) -> bool {
        let changed = match decision {
            RecoveryDecision::AdjustOutputAndRetry { max_output_tokens, lasting, .. } => {
                self.adjust_output(*max_output_tokens, *lasting)
            }
            RecoveryDecision::CompactAndRetry { window, max_output_tokens, .. } => {
                self.compact(window.or(error.window), *max_output_tokens)
            }
            decision => self.cut(decision, error),
        };
        self.leave_room();
        changed
    }

    /// Requests less output where the decision leaves no room for input, which the runtime would
    /// refuse.
    fn leave_room(&mut self) {
        let Some(sent) = self.record.sent else { return };
        let window = self.input.limits.window.into_iter().chain(sent.window).min();
        let asked = self.input.request.max_output_tokens.or(sent.max_output);
        if let (Some(window), Some(asked)) = (window, asked)
            && asked >= window
        {
            self.input.request.max_output_tokens =
                Some(ModelTable::builtin().model(self.model()).reserve(window));
        }
    }

    fn adjust_output(&mut self, tokens: u64, lasting: bool) -> bool {
        let tokens = tokens.max(1);
        if lasting {
            self.record.lasting_output = Some(tokens);
        }
        let asked = self.record.sent.and_then(|sent| sent.max_output);
        self.input.request.max_output_tokens = Some(tokens);
        asked != Some(tokens)
    }

    /// Makes the runtime prepare for a smaller window. If none is known, for half of what was sent.
    fn compact(&mut self, window: Option<u64>, max_output: Option<u64>) -> bool {
        let Some(sent) = self.record.sent else { return false };
        let tokens = sent.tokens;
        if max_output.is_some() {
            self.input.request.max_output_tokens = max_output;
        }
        let reserve = self.input.request.max_output_tokens.or(sent.max_output).unwrap_or(0);
        let window = window.unwrap_or_else(|| (tokens / 2).saturating_add(reserve));
        let window = self.input.limits.window.map_or(window, |known| known.min(window));
        self.input.limits.window = Some(window.max(LEAST_WINDOW));
        self.record.uncompacted = Some(self.history_tokens());
        true
    }

    /// Returns the tokens of the remaining history. The whole call uses one counter, because the
    /// runtime's counter changes with what it learns from refusals.
    pub(super) fn history_tokens(&self) -> u64 {
        self.counter.count_messages(self.input.history()).tokens()
    }

    /// Cuts the history to half, or less if the provider reported what fits. Used when a compaction
    /// did not help.
    pub(super) fn cut_instead(&mut self) -> bool {
        let Some(error) = self.record.last_error.clone() else { return false };
        let reason = "the compaction did not make the request smaller".to_owned();
        let keep_ratio = self.fitting(&error).map_or(HALF, |ratio| ratio.clamp(LEAST, HALF));
        self.cut(&RecoveryDecision::TruncateHeadAndRetry { keep_ratio, reason }, &error)
    }

    /// Returns the share of the history that fits, by the numbers in a refusal.
    fn fitting(&self, error: &ModelError) -> Option<f64> {
        let (sent, window, input) = (self.record.sent?, error.window?, error.input_tokens?);
        let reserve = self.input.request.max_output_tokens.or(sent.max_output).unwrap_or(0);
        let room = window.saturating_sub(reserve).saturating_sub(sent.outside);
        let history = input.saturating_sub(sent.outside);
        (history > 0).then(|| room as f64 / history as f64 * SAFE)
    }

    /// Cuts the history as decided. Returns whether there was something to cut.
    fn cut(&mut self, decision: &RecoveryDecision, error: &ModelError) -> bool {
        let mut view = HistoryView::new(self.input.history(), &*self.counter);
        if let RecoveryDecision::TruncateHeadAndRetry { keep_ratio, .. } = decision {
            let words = view.total() as f64 * keep_ratio * USER_WORDS;
            view = view.user_words(words as u64);
        }
        let failure = Failure::new(error, &view);
        let Ok(plan) = self.chain.plan(decision, &failure) else { return false };
        let (report, rewrite) = match plan {
            Some(plan) => {
                let (policy, reason) = (POLICY, decision.reason());
                let proposed =
                    ProposedCompaction { policy, reason, view: &view, plan: Some(&plan) };
                let decided = self.observers.before_compaction(&self.input.turn, &proposed);
                let (plan, applied) = decided.carry_out(plan, &view);
                let tokens = (plan.before, plan.after);
                let mut report =
                    PlanReport::forced(POLICY, plan.kind, tokens, plan.description, reason);
                match applied {
                    Ok(rewrite) => (report, rewrite),
                    Err(error) => {
                        (report.applied, report.reason) = (false, error.to_string());
                        self.record.diagnostics.push(error.diagnostic(POLICY));
                        self.record.vetoed.push(report);
                        return false;
                    }
                }
            }
            // A repair is no cut that could be done without.
            None => {
                let Ok(repaired) = self.chain.carry_out(decision, &failure) else { return false };
                let tokens = (repaired.before, repaired.after);
                let (kind, description) = (repaired.kind, repaired.description);
                let reason = decision.reason();
                let report = PlanReport::forced(POLICY, kind, tokens, description, reason);
                (report, repaired.rewrite)
            }
        };
        self.cut_by(report);
        self.input.rewrite = Some(match self.input.rewrite.take() {
            Some(earlier) => earlier.then(rewrite),
            None => rewrite,
        });
        true
    }

    /// Records an applied plan.
    pub(super) fn cut_by(&mut self, plan: PlanReport) {
        self.observers.on_event(&self.input.turn, &TurnEvent::Cut { plan: &plan });
        self.record.plans.push(plan);
    }
}
