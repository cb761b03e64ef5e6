//! Properties for any conversation and any answer.

use context_conformance::policy::{QuarterCounter, assert_policy_conforms_with, conversations};
use context_core::history::{HistoryView, Proposal};
use context_core::model::{StopReason, TokenCounter};
use context_core::{Answer, CompactionPolicy, Message, Role};
use context_policy_summarize::{Summarize, SummaryCheckpoint};
use proptest::prelude::*;

use crate::fixture::{WHOLE, stand_in};

#[test]
fn the_policy_conforms() {
    assert_policy_conforms_with(&Summarize::new(), stand_in);
}

#[test]
fn the_policy_conforms_with_a_small_window() {
    assert_policy_conforms_with(
        &Summarize::new().window(80_000).summary_tokens(500).keep_latest(0),
        stand_in,
    );
}

fn answers() -> impl Strategy<Value = Answer> {
    let piece = prop_oneof![
        3 => Just(WHOLE.to_owned()),
        1 => Just("## Objective\n".to_owned()),
        1 => Just("</checkpoint>\n<facts>\n</facts>".to_owned()),
        1 => Just("\nsk-abc123def456 ".to_owned()),
        1 => Just("-----BEGIN PRIVATE KEY-----\nMIIEvQIB\n".to_owned()),
        2 => "\\PC{0,80}",
        1 => "[ \n]{0,5}",
    ];
    let stop = prop_oneof![
        4 => Just(None),
        2 => Just(Some(StopReason::Stop)),
        1 => Just(Some(StopReason::Length)),
    ];
    (prop::collection::vec(piece, 0..6), stop, prop::bool::weighted(0.9)).prop_map(
        |(pieces, stop, complete)| {
            let mut answer = Answer::new(Message::text(Role::Assistant, pieces.concat()));
            (answer.stop, answer.complete) = (stop, complete);
            answer
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None,
        ..ProptestConfig::with_cases(128) })]

    #[test]
    fn any_answer_is_an_error_or_a_valid_smaller_plan(asked in conversations(),
        answer in answers()) {
        let policy = Summarize::new();
        let view = HistoryView::new(&asked.messages, &QuarterCounter);
        if let Proposal::Summary(task) = policy.plan(&view, &asked.goal)
            && let Ok(plan) = policy.accept(&view, &task, &answer)
        {
            prop_assert!(plan.after < plan.before);
            let after = plan.apply(&asked.messages).unwrap().messages;
            prop_assert!(answer.complete && answer.stop != Some(StopReason::Length));
            prop_assert_eq!(plan.after, QuarterCounter.count_messages(&after).tokens());
            let front = after.iter().find(|message| message.role != Role::System).unwrap();
            let text = front.plain_text();
            prop_assert!(text.starts_with("<checkpoint>\n") && text.ends_with("\n</checkpoint>"));
            prop_assert_eq!(text.matches("</checkpoint>").count(), 1);
            prop_assert!(!text.contains("sk-abc123"));
            let read = SummaryCheckpoint::read(front).unwrap();
            prop_assert!(answer.message.plain_text().contains("## "));
            prop_assert!(read.missing.len() < 4);
            prop_assert!(read.messages > 0);
        }
    }

    #[test]
    fn the_request_fits_and_quotes_the_roles_as_they_are(
        asked in conversations(),
        window in 1_200_u64..20_000,
    ) {
        let view = HistoryView::new(&asked.messages, &QuarterCounter);
        if let Proposal::Summary(task) = Summarize::new().window(window).plan(&view, &asked.goal) {
            prop_assert!(QuarterCounter.count_request(&task.request).total().high() <= window);
            let text = task.request.messages[0].plain_text();
            let covered = &asked.messages[task.covers.clone()];
            let requests = covered.iter().filter(|message| message.role == Role::User
                && !message.is_synthetic());
            prop_assert!(text.matches("<message from=\"user\"").count() <= requests.count());
        }
    }
}
