//! The policy and its options.

use context_core::CompactionPolicy;
use context_core::history::{
    DecisionKind, Failure, Goal, HistoryView, Plan, PlanError, PolicyKind, Proposal,
    RecoveryDecision, RecoveryPolicy,
};

use crate::cut::Cut;
use crate::select::{clamp, newest};

/// The quantity that a ratio applies to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Measure {
    /// The number of tokens. At most that share is kept, as far as texts can be shortened; texts
    /// are shortened if whole messages are too large.
    #[default]
    Tokens,
    /// The number of messages after checkpoints, rounded down, at least one. Messages that always
    /// stay are added, and nothing is shortened.
    Messages,
}

/// Keeps the newest part of a history. See the [crate](crate) for the messages that always stay.
#[derive(Clone, Debug, PartialEq)]
pub struct TruncateHead {
    ratios: Vec<f64>,
    measure: Measure,
    gaps: bool,
}

impl Default for TruncateHead {
    fn default() -> Self {
        Self { ratios: vec![0.5, 0.25], measure: Measure::Tokens, gaps: true }
    }
}

impl TruncateHead {
    /// The name of the policy.
    pub const NAME: &'static str = "truncate-head";

    /// Creates a policy that keeps half of the tokens after the first refusal and a quarter after
    /// the second, and then gives up.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the shares to keep, one after the other. Their number limits how often a refused call
    /// is cut.
    #[must_use]
    pub fn ratios(mut self, ratios: impl IntoIterator<Item = f64>) -> Self {
        self.ratios = ratios.into_iter().collect();
        self
    }

    /// Sets the quantity that ratios apply to.
    #[must_use]
    pub fn measure(mut self, measure: Measure) -> Self {
        self.measure = measure;
        self
    }

    /// Sets whether a message states that messages were left out in its place. Default: yes, unless
    /// such messages would take an eighth of the kept tokens.
    #[must_use]
    pub fn gaps(mut self, gaps: bool) -> Self {
        self.gaps = gaps;
        self
    }

    /// Returns the share of the history to keep after `cuts` earlier cuts, or `None` if there were
    /// enough cuts.
    pub fn ratio(&self, cuts: usize) -> Option<f64> {
        self.ratios.get(cuts).copied().map(clamp)
    }

    /// Returns the next cut for a call that was refused, whatever the error, or `None` if there
    /// were enough cuts.
    pub fn deeper(&self, failure: &Failure<'_>) -> Option<RecoveryDecision> {
        let tried = failure.tried(DecisionKind::TruncateHeadAndRetry)
            + failure.tried(DecisionKind::CompactAndRetry);
        let cuts = tried.max(usize::from(failure.has_attempted_compact));
        let keep_ratio = self.ratio(cuts)?;
        let reason = format!("{}: cut for the {} time", failure.error.code, ordinal(cuts));
        Some(RecoveryDecision::TruncateHeadAndRetry { keep_ratio, reason })
    }

    /// Keeps a share of the history, from 0.05 to 1; NaN counts as 0.05.
    pub fn keep(&self, view: &HistoryView<'_>, keep_ratio: f64) -> Proposal {
        let ratio = clamp(keep_ratio);
        if ratio >= 1.0 {
            return Proposal::nothing("all of it is kept");
        }
        match self.measure {
            Measure::Tokens => self.keep_tokens(view, (view.total() as f64 * ratio).floor() as u64),
            Measure::Messages => {
                let live = &view.messages()[view.structure().start()..];
                proposal(self.cut(view).to_messages(newest(live, ratio).len()))
            }
        }
    }

    /// Keeps at most `tokens` tokens of the history, as far as texts can be shortened.
    pub fn keep_tokens(&self, view: &HistoryView<'_>, tokens: u64) -> Proposal {
        if view.total() <= tokens {
            return Proposal::nothing("it fits");
        }
        proposal(self.cut(view).to_tokens(tokens))
    }

    fn cut<'v, 'm>(&self, view: &'v HistoryView<'m>) -> Cut<'v, 'm> {
        Cut { view, policy: Self::NAME, gaps: self.gaps }
    }
}

fn proposal(plan: Result<Plan, PlanError>) -> Proposal {
    match plan {
        Ok(plan) => Proposal::Plan(plan),
        Err(PlanError::Grows { .. }) => Proposal::nothing("nothing can be left out"),
        Err(error) => Proposal::nothing(error.to_string()),
    }
}

/// Keeps a share of a history's tokens, as [`TruncateHead`] does with its defaults.
pub fn truncate_head(view: &HistoryView<'_>, keep_ratio: f64) -> Proposal {
    TruncateHead::new().keep(view, keep_ratio)
}

impl CompactionPolicy for TruncateHead {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn kind(&self) -> PolicyKind {
        PolicyKind::Truncate
    }

    fn plan(&self, view: &HistoryView<'_>, goal: &Goal) -> Proposal {
        self.keep_tokens(view, goal.history())
    }
}

impl RecoveryPolicy for TruncateHead {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    /// Cuts if a shorter history would help: deeper each time, and only as often as there are
    /// [`ratios`](Self::ratios). An attempted compaction counts as a cut.
    fn decide(&self, failure: &Failure<'_>) -> Option<RecoveryDecision> {
        failure.error.helped_by_compaction.then(|| self.deeper(failure)).flatten()
    }
}

fn ordinal(cuts: usize) -> String {
    match cuts {
        0 => "first".to_owned(),
        1 => "second".to_owned(),
        2 => "third".to_owned(),
        more => format!("{}th", more + 1),
    }
}
