//! Decisions after a provider's refusal.

use context_core::history::{
    Attempt, Failure, Goal, HistoryView, RecoveryDecision, RecoveryPolicy,
};
use context_core::model::{Budget, ModelErrorCode as Code};
use context_core::{CompactionPolicy, ModelError};
use context_policy_truncate_head::TruncateHead;

use crate::{Bytes, assistant, history, user};

fn ratio(decision: Option<RecoveryDecision>) -> Option<f64> {
    match decision? {
        RecoveryDecision::TruncateHeadAndRetry { keep_ratio, .. } => Some(keep_ratio),
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_cut_is_deeper_and_their_number_is_known() {
    let error = ModelError::new("anyone", Code::ContextOverflow, "too long");
    let view = HistoryView::new(&[], &Bytes);
    let mut attempts = Vec::new();
    let policy = TruncateHead::new();
    for expected in [Some(0.5), Some(0.25), None] {
        let mut failure = Failure::new(&error, &view);
        failure.attempts = &attempts;
        let decision = policy.decide(&failure);
        assert_eq!(ratio(decision.clone()), expected);
        attempts.extend(decision.map(|decision| Attempt::new(decision, 10, 9)));
    }
    let mut failure = Failure::new(&error, &view);
    failure.has_attempted_compact = true;
    assert_eq!(ratio(policy.decide(&failure)), Some(0.25));
    let deep = TruncateHead::new().ratios([0.8, f64::NAN]);
    assert_eq!(ratio(deep.decide(&Failure::new(&error, &view))), Some(0.8));
    assert_eq!(ratio(deep.decide(&failure)), Some(0.05));
}

#[test]
fn what_a_shorter_history_does_not_help_is_none_of_its_business() {
    let view = HistoryView::new(&[], &Bytes);
    for code in [Code::Authentication, Code::RateLimit, Code::Image, Code::Unknown, Code::Billing] {
        let error = ModelError::new("anyone", code, "no");
        assert_eq!(TruncateHead::new().decide(&Failure::new(&error, &view)), None);
    }
}

#[test]
fn a_goal_is_reached() {
    let messages =
        history((0..50).flat_map(|n| [user(&format!("q{n}")), assistant(&"a".repeat(n * 7))]));
    let view = HistoryView::new(&messages, &Bytes);
    let goal = Goal::new(Budget::new(4_000, 1_000), 500, 2_000);
    let plan = TruncateHead::new().plan(&view, &goal).into_plan().unwrap();
    assert!(plan.after <= goal.history() && plan.after > goal.history() / 2, "{}", plan.after);
    let after = plan.apply(&messages).unwrap().messages;
    let again = TruncateHead::new().plan(&HistoryView::new(&after, &Bytes), &goal);
    assert_eq!(again.into_plan(), None);
}

#[test]
fn a_compaction_that_was_tried_is_a_cut() {
    let error = ModelError::new("anyone", Code::ContextOverflow, "too long");
    let view = HistoryView::new(&[], &Bytes);
    let compacted = RecoveryDecision::CompactAndRetry {
        window: None,
        max_output_tokens: None,
        reason: String::new(),
    };
    let attempts = [Attempt::new(compacted, 10, 9)];
    let mut failure = Failure::new(&error, &view);
    failure.attempts = &attempts;
    assert_eq!(ratio(TruncateHead::new().decide(&failure)), Some(0.25));
}

#[test]
fn a_decision_says_which_cut_it_is() {
    let error = ModelError::new("anyone", Code::ContextOverflow, "too long");
    let view = HistoryView::new(&[], &Bytes);
    let policy = TruncateHead::new().ratios([0.8, 0.6, 0.4, 0.2]);
    let mut attempts = Vec::new();
    for ordinal in ["first", "second", "third", "4th"] {
        let mut failure = Failure::new(&error, &view);
        failure.attempts = &attempts;
        let decision = policy.decide(&failure).unwrap();
        let RecoveryDecision::TruncateHeadAndRetry { reason, .. } = &decision else {
            panic!("{decision:?}")
        };
        assert_eq!(*reason, format!("context_overflow: cut for the {ordinal} time"));
        attempts.push(Attempt::new(decision, 10, 9));
    }
}

/// The name is part of reports, of stored boundaries and of recoveries.
#[test]
fn it_has_one_name() {
    let policy = TruncateHead::new();
    assert_eq!(CompactionPolicy::name(&policy), "truncate-head");
    assert_eq!(RecoveryPolicy::name(&policy), "truncate-head");
}
