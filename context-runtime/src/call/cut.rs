//! Carrying decisions out.

use context_core::{Failure, HistoryView, ModelError, PlanReport, RecoveryDecision};

use super::ModelCall;

/// What reports name where a refusal was the reason of a cut.
const POLICY: &str = "recovery";
/// How much is kept when a compaction could not make the history smaller.
const HALF: f64 = 0.5;

impl ModelCall<'_> {
    /// Does what was decided about an error. Whether that changed anything.
    pub(super) fn carry_out(&mut self, decision: &RecoveryDecision, error: &ModelError) -> bool {
        match decision {
            RecoveryDecision::AdjustOutputAndRetry { max_output_tokens, lasting, .. } => {
                self.adjust_output(*max_output_tokens, *lasting)
            }
            RecoveryDecision::CompactAndRetry { window, max_output_tokens, .. } => {
                self.compact(window.or(error.window), *max_output_tokens)
            }
            decision => self.cut(decision, error),
        }
    }

    fn adjust_output(&mut self, tokens: u64, lasting: bool) -> bool {
        let tokens = tokens.max(1);
        if lasting {
            self.record.lasting_output = Some(tokens);
        }
        let asked = self.record.sent.and_then(|sent| sent.max_output);
        self.input.max_output_tokens = Some(tokens);
        asked != Some(tokens)
    }

    /// Has the runtime prepare for a smaller window. Without one that is known, half of what was sent.
    fn compact(&mut self, window: Option<u64>, max_output: Option<u64>) -> bool {
        let Some(sent) = self.record.sent else { return false };
        let tokens = sent.tokens.tokens();
        if max_output.is_some() {
            self.input.max_output_tokens = max_output;
        }
        let reserve = self.input.max_output_tokens.or(sent.max_output).unwrap_or(0);
        let window = window.unwrap_or_else(|| (tokens / 2).saturating_add(reserve));
        self.input.window = Some(self.input.window.map_or(window, |known| known.min(window)));
        self.record.uncompacted = Some(tokens);
        true
    }

    /// Keeps half of the history: what is left where a compaction was of no use.
    pub(super) fn cut_half(&mut self) -> bool {
        let reason = "the compaction did not make the request smaller".to_owned();
        let decision = RecoveryDecision::TruncateHeadAndRetry { keep_ratio: HALF, reason };
        let before = self.record.sent.map_or(0, |sent| sent.tokens.tokens());
        let Some(error) = self.record.last_error.clone() else { return false };
        let cut = self.cut(&decision, &error);
        if cut {
            self.record.open = Some((decision, before));
        }
        cut
    }

    /// Cuts the history as was decided. Whether there was something to cut.
    fn cut(&mut self, decision: &RecoveryDecision, error: &ModelError) -> bool {
        let view = HistoryView::new(self.history.messages(), &*self.counter);
        let Ok(carried) = self.chain.carry_out(decision, &Failure::new(error, &view)) else { return false };
        let tokens = (carried.before, carried.after);
        let report = PlanReport::forced(POLICY, carried.kind, tokens, carried.what, decision.reason());
        self.record.plans.push(report);
        self.history.adopt(carried.compacted);
        true
    }
}
