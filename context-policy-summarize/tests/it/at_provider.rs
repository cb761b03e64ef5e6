//! Compactions by the provider: what is asked for, and which answers are taken.

use std::sync::Arc;

use context_conformance::policy::QuarterCounter;
use context_core::history::{HistoryView, Proposal, SummaryError, SummaryTask};
use context_core::message::OpaqueBlock;
use context_core::model::{StopReason, Usage};
use context_core::{Answer, CompactionPolicy, Json, Message, Part, Role};
use context_policy_summarize::{ProviderCompact, Summarize, SummaryCheckpoint};
use serde_json::{Value, json};

use crate::fixture::{MessageList, WHOLE, goal, history, says, steps};

fn task(policy: &ProviderCompact, messages: &[Arc<Message>]) -> SummaryTask {
    match policy.plan(&HistoryView::new(messages, &QuarterCounter), &goal(10_000)) {
        Proposal::Summary(task) => *task,
        other => panic!("no summary: {other:?}"),
    }
}

fn block(value: Value) -> Part {
    let provider = "anthropic".to_owned();
    Part::Opaque(OpaqueBlock { provider, value: Json::from(&value) })
}

fn answer(parts: impl IntoIterator<Item = Part>) -> Answer {
    let mut answer = Answer::new(Message::new(Role::Assistant, parts));
    answer.stop = Some(StopReason::Paused);
    answer
}

fn accepted(answer: &Answer) -> Result<MessageList, SummaryError> {
    let messages = history(steps("the task", 40, 4_000));
    let policy = ProviderCompact::new();
    let view = HistoryView::new(&messages, &QuarterCounter);
    let plan = policy.accept(&view, &task(&policy, &messages), answer)?;
    Ok(plan.apply(&messages)?.messages.into())
}

fn readable() -> Value {
    json!({"type": "compaction", "content": "They mend the build.", "signature": "EuYB"})
}

#[test]
fn the_block_stands_in_front_with_its_summary_and_the_facts() {
    let messages = accepted(&answer([block(readable())])).unwrap();
    let first = &messages[0];
    assert!(first.is_checkpoint() && first.role == Role::User);
    let both = first.substituted_block().unwrap();
    assert_eq!(both.block.value.as_str(), readable().to_string());
    let checkpoint = SummaryCheckpoint::read(first).unwrap();
    assert_eq!(checkpoint.summary, "They mend the build.");
    assert!(checkpoint.messages > 20 && !checkpoint.facts.is_empty());
    let facts = first.parts.last().unwrap();
    assert!(matches!(facts, Part::Text(text) if text.text.starts_with("<facts>")), "{facts:?}");
}

#[test]
fn a_block_that_nobody_else_reads_is_described_and_counted() {
    let sealed = json!({"type": "compaction", "encrypted_content": "gAAAAB"});
    let mut answer = answer([block(sealed)]);
    answer.stop = Some(StopReason::Stop);
    answer.usage = Some(Usage::new(40_000, 900));
    let messages = accepted(&answer).unwrap();
    assert_eq!(messages[0].substituted_block().unwrap().tokens, Some(900));
    assert!(messages[0].plain_text().contains("in a form that only it reads"));
}

#[test]
fn a_summary_that_a_model_wrote_is_taken_as_well() {
    let messages = accepted(&says(WHOLE)).unwrap();
    assert!(messages[0].is_checkpoint() && messages[0].substituted_block().is_none());
}

#[test]
fn what_is_not_one_whole_block_is_refused() {
    let unsigned = json!({"type": "compaction", "content": "They mend the build."});
    let empty = json!({"type": "compaction", "content": " ", "signature": "EuYB"});
    let mut cut_off = answer([block(readable())]);
    cut_off.stop = Some(StopReason::Length);
    let mut broken = answer([block(readable())]);
    broken.complete = false;
    for malformed in [vec![block(unsigned)], vec![block(empty)], vec![block(readable()); 2]] {
        let refused = accepted(&answer(malformed));
        assert!(matches!(refused, Err(SummaryError::Malformed { .. })), "{refused:?}");
    }
    for cut in [cut_off, broken] {
        assert_eq!(accepted(&cut), Err(SummaryError::CutOff));
    }
    let sealed = json!({"type": "compaction", "encrypted_content": "gAAAAB"});
    let mut large = answer([block(sealed)]);
    large.usage = Some(Usage::new(40_000, 90_000));
    assert!(matches!(accepted(&large), Err(SummaryError::TooLarge { .. })));
    assert_eq!(accepted(&answer([])), Err(SummaryError::CutOff), "paused, and no summary");
}

#[test]
fn the_provider_writes_by_its_own_rules_unless_others_are_given() {
    let messages = history(steps("the task", 40, 4_000));
    let plain = task(&ProviderCompact::new(), &messages);
    assert_eq!(plain.provider.unwrap().instructions, None);
    let focused = ProviderCompact::new().summaries(Summarize::new().focus("Keep every path."));
    let asked = task(&focused, &messages).provider.unwrap().instructions.unwrap();
    assert!(asked.starts_with("Summarise the conversation.") && asked.contains("Keep every path."));
    assert!(asked.contains("call no tools"), "{asked}");
    assert_eq!(task(&focused, &messages).policy, "provider-compact");
}
