//! The summary of a branch that is left, in the branch that goes on.

use context_runtime::model::{Answer, SummaryError};
use context_runtime::removal::{Redaction, RemovalOptions, redact_messages};
use context_runtime::summarize::Summarize;
use context_runtime::tokens::Budget;
use context_runtime::{ContextEngine, LeftBranch, Message, Role, Timestamp};

use crate::kit::{say, shown, store, stored, texts};
use crate::runtime_kit::ByteCounter;

const SAID: &str = "## Objective\nA sorted log\n## Current state\nThe queue was slow: zebra";

fn answer(text: &str) -> Answer {
    Answer::new(Message::text(Role::Assistant, text))
}

/// A chat that went back to its first message, from a branch with two more.
async fn went_back() -> (std::sync::Arc<dyn context_runtime::Store>, ContextEngine) {
    let store = store().await;
    let mut chat = crate::kit::engine(&store).await;
    let long = "zebra in a queue. ".repeat(400);
    chat.set([say("u1", "Sort the log."), say("a1", &long), say("u2", "Too slow.")]);
    let _saved = chat.save().await.unwrap();
    let _moved = chat.rewind(&"u1".into()).await.unwrap();
    (store, chat)
}

#[tokio::test]
async fn the_branch_that_goes_on_learns_what_was_tried_and_where_it_was() {
    let (store, mut chat) = went_back().await;
    let (policy, budget) = (Summarize::new(), Budget::new(100_000, 2_000));
    let main = "main".into();
    let left = chat.summarize_branch(&main, &policy, &ByteCounter, &budget).await.unwrap().unwrap();
    let text = left.task.request.messages[0].plain_text().into_owned();
    assert!(
        text.contains("zebra") && text.contains("Too slow.") && !text.contains("Sort the log.")
    );
    let refused = chat.accept_branch_summary(&left, &answer("no"), &ByteCounter).unwrap_err();
    assert!(matches!(refused, SummaryError::Malformed { .. }));
    assert_eq!(chat.pending().count(), 0);

    let id = chat.accept_branch_summary(&left, &answer(SAID), &ByteCounter).unwrap();
    chat.set([say("u3", "Without a queue, then.")]);
    let _saved = chat.save().await.unwrap();
    let messages = chat.resolve().await.unwrap().messages;
    assert_eq!(texts(&messages)[2], "u3: Without a queue, then.");
    assert_eq!(messages[1].id, id);
    let from = LeftBranch::of(messages[1].message().unwrap()).unwrap();
    assert_eq!(
        (from.branch.as_str(), from.after.unwrap().as_str(), from.messages),
        ("main", "u1", 2)
    );
    assert_eq!((from.first.as_str(), from.last.as_str()), ("a1", "u2"));
    assert_eq!(chat.turn_count().await.unwrap(), 2, "a summary is no turn");
    assert_eq!(stored(&store, "main").await.len(), 3, "what was left stays as it was");
    // The other way round, the summary is part of what is summarised, and a branch without
    // messages of its own has none.
    let own = chat.branch().clone();
    assert_eq!(chat.summarize_branch(&own, &policy, &ByteCounter, &budget).await.unwrap(), None);
}

#[tokio::test]
async fn a_redaction_reaches_the_summary() {
    let (store, mut chat) = went_back().await;
    let (policy, budget) = (Summarize::new(), Budget::new(100_000, 2_000));
    let main = "main".into();
    let left = chat.summarize_branch(&main, &policy, &ByteCounter, &budget).await.unwrap().unwrap();
    let id = chat.accept_branch_summary(&left, &answer(SAID), &ByteCounter).unwrap();
    let _saved = chat.save().await.unwrap();
    let options = RemovalOptions::at(Timestamp::from_micros(9));
    let words = Redaction::Words;
    let chat_ref = chat.chat_ref().clone();
    // What was asked before is in no summary.
    let before =
        redact_messages(&*store, &chat_ref, &["u1".into()], words, &options).await.unwrap();
    assert_eq!(before.messages, 1);
    let removed = redact_messages(&*store, &chat_ref, &["a1".into()], words, &options).await;
    assert_eq!(removed.unwrap().messages, 2);
    let after = shown(&mut crate::kit::engine(&store).await).await;
    assert!(after[1].starts_with(id.as_str()) && !after[1].contains("zebra"), "{after:?}");
}

/// The branch with the first summary was left too.
#[tokio::test]
async fn a_redaction_reaches_the_summary_of_a_summary() {
    let (store, mut chat) = went_back().await;
    let (policy, budget) = (Summarize::new(), Budget::new(100_000, 2_000));
    let mut ids = Vec::new();
    for branch in ["main", "main-v2"] {
        if branch != "main" {
            chat.set([say("u3", &"Without a queue. ".repeat(400))]);
            let _saved = chat.save().await.unwrap();
            let _moved = chat.rewind(&"u1".into()).await.unwrap();
        }
        let left = chat.summarize_branch(&branch.into(), &policy, &ByteCounter, &budget).await;
        let left = left.unwrap().unwrap();
        ids.push(chat.accept_branch_summary(&left, &answer(SAID), &ByteCounter).unwrap());
        let _saved = chat.save().await.unwrap();
    }
    let options = RemovalOptions::at(Timestamp::from_micros(9));
    let chat_ref = chat.chat_ref().clone();
    let removed =
        redact_messages(&*store, &chat_ref, &["a1".into()], Redaction::Words, &options).await;
    assert_eq!(removed.unwrap().messages, 3);
    let after = shown(&mut crate::kit::engine(&store).await).await;
    assert!(after[1].starts_with(ids[1].as_str()) && !after[1].contains("zebra"), "{after:?}");
}
