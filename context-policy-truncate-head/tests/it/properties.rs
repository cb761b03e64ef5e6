//! Properties for every history.

use std::sync::Arc;

use context_codec_kit::normalize::{HistoryRules, normalize};

use context_conformance::histories::{damaged, histories};
use context_conformance::policy::assert_policy_conforms;
use context_core::history::{HistoryView, Plan, Structure};
use context_core::model::Unanswered;
use context_core::{Message, Part};
use context_policy_truncate_head::{Measure, TruncateHead, truncate_head};
use proptest::prelude::*;

use crate::Bytes;

fn cut(
    messages: &[Arc<Message>],
    policy: &TruncateHead,
    tokens: u64,
) -> Option<(Plan, Vec<Arc<Message>>)> {
    let plan = policy.keep_tokens(&HistoryView::new(messages, &Bytes), tokens).into_plan()?;
    let left =
        plan.apply(messages).expect("a plan fits the history it was made for").messages.to_vec();
    Some((plan, left))
}

#[test]
fn cuts_keep_the_contract() {
    assert_policy_conforms(&TruncateHead::new());
    assert_policy_conforms(&TruncateHead::new().gaps(true));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None,
        ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_history_a_cut_is_smaller_deterministic_and_done_once(
        (history, _) in damaged(),
        share in 0.0..1.0_f64,
        gaps in any::<bool>(),
    ) {
        let view = HistoryView::new(&history, &Bytes);
        let policy = TruncateHead::new().gaps(gaps);
        let tokens = (view.total() as f64 * share) as u64;
        let Some((plan, left)) = cut(&history, &policy, tokens) else { return Ok(()) };
        prop_assert!(plan.after < plan.before);
        prop_assert_eq!(HistoryView::new(&left, &Bytes).total(), plan.after);
        prop_assert_eq!(cut(&history, &policy, tokens), Some((plan.clone(), left.clone())));
        if plan.after <= tokens {
            prop_assert_eq!(cut(&left, &policy, tokens), None);
        } else {
            // The goal is approached as closely as possible: a second cut gains little or nothing.
            let again = cut(&left, &policy, tokens).map_or(plan.after, |(again, _)| again.after);
            prop_assert!(again + again / 4 + 64 >= plan.after, "{} {}", again, plan.after);
        }
    }

    #[test]
    fn a_share_is_one_of_tokens(history in histories(), ratio in 0.05..1.0_f64) {
        let view = HistoryView::new(&history, &Bytes);
        let Some(plan) = truncate_head(&view, ratio).into_plan() else { return Ok(()) };
        let anchors: u64 = view.structure().anchors().map(|at| view.tokens(at)).sum();
        let most = (view.total() as f64 * ratio) as u64;
        // The newest message stays, and a provider's own blocks in it cannot be shortened.
        let newest = history.len() - 1;
        let opaque = history[newest].parts.iter().any(|part| matches!(part, Part::Opaque(_)));
        let whole = if opaque { view.tokens(newest) } else { 0 };
        let least = most + anchors + whole + 256;
        prop_assert!(plan.after <= most || plan.after <= least, "{} of {most}", plan.after);
    }

    #[test]
    fn a_valid_history_stays_valid(history in histories(), ratio in 0.05..1.0_f64,
        by_messages in any::<bool>()) {
        let measure = if by_messages { Measure::Messages } else { Measure::Tokens };
        let policy = TruncateHead::new().measure(measure).gaps(false);
        let view = HistoryView::new(&history, &Bytes);
        let Some(plan) = policy.keep(&view, ratio).into_plan() else { return Ok(()) };
        let left = plan.apply(&history).expect("a plan fits the history it was made for");
        let sent = normalize(&left.messages, &HistoryRules::new(), Unanswered::Remove, false);
        prop_assert!(sent.diagnostics.is_empty(), "{:?}", sent.diagnostics);
        let kept: Vec<usize> = left.origins.iter().copied().flatten().collect();
        let structure = Structure::of(&history);
        let mut anchors = structure.anchors();
        prop_assert!(anchors.all(|anchor| kept.contains(&anchor)));
    }
}
