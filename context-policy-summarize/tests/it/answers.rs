//! Tests of accepted and refused answers. A refused answer changes nothing.

use std::sync::Arc;

use context_core::history::SummaryError;
use context_core::model::{ModelErrorCode, StopReason};
use context_core::{Answer, Message, ModelError, Part, Role};
use context_policy_summarize::{Summarize, SummaryCheckpoint};
use serde_json::json;

use crate::fixture::{WHOLE, accept, assistant, goal, history, says, steps, task, user};

fn judged(answer: &Answer) -> Result<(), SummaryError> {
    let messages = history(steps("the task", 40, 4_000));
    let policy = Summarize::new();
    let task = task(&policy, &messages, &goal(10_000));
    let copy = messages.clone();
    let outcome = accept(&policy, &messages, &task, answer).map(drop);
    assert_eq!(messages, copy);
    outcome
}

fn stopped(stop: StopReason) -> Answer {
    let mut answer = says(WHOLE);
    answer.stop = Some(stop);
    answer
}

#[test]
fn what_is_no_summary_is_refused() {
    let mut broken = says(WHOLE);
    broken.complete = false;
    let mut failed = says(WHOLE);
    failed.error = Some(ModelError::new("anyone", ModelErrorCode::Overloaded, "busy"));
    let calls = Answer::new(Message::new(
        Role::Assistant,
        [Part::text(WHOLE), Part::tool_call("a", "read", json!({}))],
    ));
    for (answer, error) in [
        (says(" \n"), SummaryError::Empty),
        (Answer::new(Message::new(Role::Assistant, [])), SummaryError::Empty),
        (stopped(StopReason::Length), SummaryError::CutOff),
        (stopped(StopReason::ContextWindow), SummaryError::CutOff),
        (broken, SummaryError::CutOff),
        (stopped(StopReason::ContentFilter), SummaryError::Refused),
        (stopped(StopReason::Refusal), SummaryError::Refused),
        (failed, SummaryError::Failed("anyone refused: overloaded: busy".into())),
    ] {
        assert_eq!(judged(&answer), Err(error));
    }
    for answer in [calls, stopped(StopReason::ToolCalls), says("I cannot help with that.")] {
        assert!(matches!(judged(&answer), Err(SummaryError::Malformed { .. })), "{answer:?}");
    }
    assert_eq!(judged(&stopped(StopReason::Stop)), Ok(()));
    assert_eq!(judged(&stopped(StopReason::Other("done".into()))), Ok(()));
}

#[test]
fn a_refusal_in_words_is_told_by_its_headings() {
    let Err(error) = judged(&says("I'm sorry, I can't summarise this.")) else { panic!("taken") };
    assert_eq!(
        error.to_string(),
        "the answer is not a summary: each of the headings Objective, Current state, Remaining, Files and artifacts is missing"
    );
}

#[test]
fn a_summary_that_is_no_smaller_is_refused() {
    let messages = history(steps("the task", 40, 4_000));
    let task = task(&Summarize::new(), &messages, &goal(10_000));
    let long = says(format!("{WHOLE}{}", " and more".repeat(40_000)));
    match accept(&Summarize::new(), &messages, &task, &long) {
        Err(SummaryError::TooLarge { summary, replaced }) => {
            assert!(summary >= replaced);
            assert_eq!(replaced, task.tokens);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_summary_of_another_history_is_refused() {
    let messages = history(steps("the task", 40, 4_000));
    let policy = Summarize::new();
    let task = task(&policy, &messages, &goal(10_000));
    let mut edited = messages.clone();
    edited[4] = Arc::new(assistant("something else"));
    let shorter = messages[..4].to_vec();
    for other in [edited, shorter, history([])] {
        assert_eq!(accept(&policy, &other, &task, &says(WHOLE)), Err(SummaryError::Stale));
    }
    let equal: Vec<_> = messages.iter().map(|message| Arc::new(Message::clone(message))).collect();
    assert!(accept(&policy, &equal, &task, &says(WHOLE)).is_ok(), "the same words read again");
    let foreign = context_core::history::SummaryTask::new(
        "another",
        task.request.clone(),
        task.covers.clone(),
        9,
    );
    assert_eq!(accept(&policy, &messages, &foreign, &says(WHOLE)), Err(SummaryError::NotAsked));
}

#[test]
fn a_summary_with_few_headings_is_taken_and_says_so() {
    let messages = history(steps("the task", 40, 4_000));
    let task = task(&Summarize::new(), &messages, &goal(10_000));
    let weak =
        accept(&Summarize::new(), &messages, &task, &says("## Objective\nto mend it")).unwrap();
    let checkpoint = SummaryCheckpoint::read(&weak.messages[0]).unwrap();
    assert!(checkpoint.is_weak());
    assert_eq!(checkpoint.missing, ["Current state", "Remaining", "Files and artifacts"]);
    let whole = accept(&Summarize::new(), &messages, &task, &says(WHOLE)).unwrap();
    assert!(!SummaryCheckpoint::read(&whole.messages[0]).unwrap().is_weak());
    assert_eq!(SummaryCheckpoint::read(&user("no checkpoint")), None);
}
