//! What to do about a model's error.

use context_core::{Budget, Failure, HistoryView, RecoveryDecision, RecoveryInput, TokenCounter};

use super::parts::Parts;

/// What the first policy says that knows better than to give up.
pub(super) fn recover(
    parts: &Parts,
    counter: &dyn TokenCounter,
    budget: Option<Budget>,
    input: &RecoveryInput,
) -> RecoveryDecision {
    let view = HistoryView::new(&input.messages, counter);
    let mut failure = Failure::new(&input.error, &view);
    failure.attempts = &input.attempts;
    failure.has_attempted_compact = input.has_attempted_compact;
    failure.budget = budget;
    let decided = parts.recovery.iter().find_map(|policy| policy.decide(&failure));
    decided.unwrap_or_else(|| RecoveryDecision::give_up(input.error.code.as_str()))
}
