//! Properties for every conversation.

use std::sync::Arc;

use context_conformance::policy::{QuarterCounter, assert_policy_conforms, conversations};
use context_core::history::{HistoryView, ToolNames};
use context_core::{CompactionPolicy, Message, Part};
use context_policy_microcompact::{Microcompact, Tools};
use proptest::prelude::*;
use proptest::test_runner::Config;

#[test]
fn previews_keep_the_contract() {
    assert_policy_conforms(&Microcompact::new());
    assert_policy_conforms(
        &Microcompact::new().bound(0).keep_results(0).protect(ToolNames::default()),
    );
}

#[test]
fn attached_media_keep_the_contract() {
    assert_policy_conforms(&Microcompact::new().bound(20).keep_messages(1).clear_attached());
}

#[test]
fn texts_of_the_user_keep_the_contract() {
    assert_policy_conforms(&Microcompact::new().user_texts(20).clear_attached());
    assert_policy_conforms(&Microcompact::new().user_texts(0));
}

#[test]
fn clearing_keeps_the_contract() {
    assert_policy_conforms(&Microcompact::clearing().tools(Tools::All));
}

/// Returns the calls and results by their ids, and the role of each message.
fn skeleton(messages: &[Arc<Message>]) -> Vec<(String, Vec<String>)> {
    let of = |message: &Arc<Message>| {
        let halves = message.parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(format!("call {} of {}", call.id, call.name)),
            Part::ToolResult(result) => {
                Some(format!("result {} {}", result.call_id, result.is_error))
            }
            _ => None,
        });
        (message.role.to_string(), halves.collect())
    };
    messages.iter().map(of).collect()
}

proptest! {
    #![proptest_config(Config { failure_persistence: None, ..Config::with_cases(64) })]

    #[test]
    fn messages_roles_and_pairs_are_the_same(asked in conversations(), bound in 0_u64..300) {
        let policy = Microcompact::new().bound(bound).keep_results(1);
        let view = HistoryView::new(&asked.messages, &QuarterCounter);
        if let Some(plan) = policy.plan(&view, &asked.goal).into_plan() {
            let left = plan.apply(&asked.messages).unwrap().messages;
            prop_assert_eq!(skeleton(&left), skeleton(&asked.messages));
        }
    }
}
