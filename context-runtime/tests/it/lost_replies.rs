//! A commit whose reply was lost takes effect once.
//!
//! Comparable libraries write such a message twice, or make a branch of it: the retry finds the ids
//! stored and takes them for edits.

use std::sync::Arc;

use context_runtime::{ErrorKind, SaveOutcome, Store, last_assistant_message, role};
use context_simulator::faults::{Fault, FaultPlan, FaultStore, Operation};

use crate::compactions::{Recipe, compacted};
use crate::kit::{builder, say, shown, store, stored, with_messages};

const CHAT: [&str; 2] = ["u1: text u1", "a1: text a1"];

/// Returns the inner store and an engine over it. These faults happen to these commits, counted
/// from 0.
async fn flaky(faults: &[(u32, Fault)]) -> (Arc<dyn Store>, context_runtime::ContextEngine) {
    let inner = store().await;
    let _seed = with_messages(&inner, &["u1", "a1"]).await;
    let commits =
        |plan: FaultPlan, (nth, fault): &(u32, Fault)| plan.with(Operation::Commit, *nth, *fault);
    let plan = faults.iter().fold(FaultPlan::default(), commits);
    let faulty: Arc<dyn Store> = Arc::new(FaultStore::new(Arc::clone(&inner), plan));
    let chat = builder(&faulty).open().await.unwrap();
    (inner, chat)
}

#[tokio::test]
async fn a_lost_reply_is_found_out_by_the_next_save() {
    let (inner, mut chat) = flaky(&[(0, Fault::AfterApply), (1, Fault::BeforeApply)]).await;
    chat.set([say("u2", "next")]);
    assert_eq!(chat.save().await.unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(shown(&mut chat).await, ["u1: text u1", "a1: text a1", "u2: next"]);
    assert_eq!(chat.save().await.unwrap_err().kind(), ErrorKind::Unavailable);
    chat.set([say("a2", "more")]);
    let saved = chat.save().await.unwrap();
    assert_eq!((saved.branch.as_str(), saved.outcome), ("main", SaveOutcome::Saved));
    let expected = [CHAT[0], CHAT[1], "u2: next", "a2: more"];
    assert_eq!(shown(&mut chat).await, expected);
    assert_eq!(stored(&inner, "main").await, expected);
    assert_eq!(inner.history().branches(chat.chat_ref()).await.unwrap().len(), 1);
}

#[tokio::test]
async fn an_edit_whose_reply_was_lost_makes_one_branch() {
    // The first commit is refused because of the id, the second makes the branch.
    let (inner, mut chat) = flaky(&[(1, Fault::AfterApply)]).await;
    chat.set([say("u1", "edited"), role("R").persisted()]);
    assert_eq!(chat.save().await.unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(inner.history().branches(chat.chat_ref()).await.unwrap().len(), 2);
    let saved = chat.save().await.unwrap();
    assert_eq!((saved.branch.as_str(), saved.outcome), ("main-v2", SaveOutcome::Unchanged));
    assert_eq!(inner.history().branches(chat.chat_ref()).await.unwrap().len(), 2);
    assert_eq!(inner.fragments().fragments(chat.chat_ref()).await.unwrap().len(), 1);
    assert_eq!(chat.pending().count(), 0);
    assert_eq!(stored(&inner, "main").await, CHAT);
}

#[tokio::test]
async fn an_edit_that_never_arrived_is_made_by_the_next_save() {
    let (inner, mut chat) = flaky(&[(1, Fault::BeforeApply)]).await;
    chat.set([say("u1", "edited")]);
    assert!(chat.save().await.is_err());
    let _saved = chat.save().await.unwrap();
    assert_eq!(shown(&mut chat).await.len(), 1);
    assert_eq!(inner.history().branches(chat.chat_ref()).await.unwrap().len(), 2);
    assert_eq!(stored(&inner, "main").await, CHAT);
}

#[tokio::test]
async fn what_is_taken_back_or_said_anew_after_a_failed_save_is_not_sent_as_it_was() {
    let (inner, mut chat) = flaky(&[(0, Fault::BeforeApply)]).await;
    chat.set([say("u2", "typo"), say("u3", "never mind")]);
    assert!(chat.save().await.is_err());
    chat.set([say("u2", "corrected")]);
    assert!(chat.unset(&"u3".into()).await.unwrap());
    let _saved = chat.save().await.unwrap();
    assert_eq!(stored(&inner, "main").await, [CHAT[0], CHAT[1], "u2: corrected"]);

    // A commit that did arrive left a stored message, and other content is an edit of it.
    let (inner, mut chat) = flaky(&[(0, Fault::AfterApply)]).await;
    chat.set([say("u2", "typo")]);
    assert!(chat.save().await.is_err());
    chat.set([say("u2", "corrected")]);
    let saved = chat.save().await.unwrap();
    assert_eq!(saved.outcome, SaveOutcome::Edited { from: "main".into() });
    assert_eq!(stored(&inner, "main").await, [CHAT[0], CHAT[1], "u2: typo"]);
    assert_eq!(shown(&mut chat).await[2].split(": ").nth(1), Some("corrected"));
}

#[tokio::test]
async fn an_amendment_whose_reply_was_lost_is_one_revision() {
    let (inner, mut chat) = flaky(&[(0, Fault::AfterApply)]).await;
    chat.set([last_assistant_message("fixed")]);
    assert!(chat.save().await.is_err());
    assert_eq!(chat.save().await.unwrap().outcome, SaveOutcome::Unchanged);
    assert_eq!(shown(&mut chat).await, ["u1: text u1", "a1: fixed"]);
    let revisions = inner.history().revisions(chat.chat_ref(), &"a1".into()).await.unwrap();
    assert_eq!(revisions.len(), 1);
}

#[tokio::test]
async fn a_save_that_is_dropped_half_way_is_settled_by_the_next_one() {
    let (inner, mut chat) = flaky(&[(0, Fault::HangAfterApply)]).await;
    chat.set([say("u2", "next")]);
    {
        let save = std::pin::pin!(chat.save());
        tokio::select! {
            biased;
            _ = save => panic!("nothing is heard of it"),
            () = std::future::ready(()) => {}
        }
    }
    let saved = chat.save().await.unwrap();
    assert_eq!(saved.head, Some("u2".into()));
    assert_eq!(stored(&inner, "main").await, [CHAT[0], CHAT[1], "u2: next"]);
}

/// A compaction stored without its messages, or the other way round, would show a model a history
/// that never existed.
#[tokio::test]
async fn a_compaction_and_what_was_said_are_one_commit() {
    let recipe: Recipe<'_> = &[(None, Some("so far")), (Some(2), None)];
    for (fault, arrives) in [(Fault::BeforeApply, false), (Fault::AfterApply, true)] {
        let (inner, mut chat) = flaky(&[(0, fault)]).await;
        chat.set([say("u2", "next")]);
        let turn = chat.resolve().await.unwrap();
        let history = &turn.messages;
        let id = chat.compact(&turn, &compacted(history, recipe), &[]).await.unwrap().unwrap();
        let expected = [format!("{id}/0: so far"), "u2: next".to_owned()];
        assert!(chat.save().await.is_err());
        let at_once = stored(&inner, "main").await;
        if arrives {
            assert_eq!(at_once, expected);
        } else {
            assert_eq!(at_once, CHAT);
        }
        assert_eq!(shown(&mut chat).await, expected);
        chat.set([say("a2", "done")]);
        let _saved = chat.save().await.unwrap();
        let expected = [&expected[..], &["a2: done".to_owned()]].concat();
        assert_eq!(shown(&mut chat).await, expected);
        assert_eq!(stored(&inner, "main").await, expected);
        assert_eq!(chat.compactions().await.unwrap().len(), 1);
    }
}

#[tokio::test]
async fn finished_steps_of_a_turn_survive_its_end() {
    let (inner, mut chat) = flaky(&[(2, Fault::BeforeApply)]).await;
    for id in ["u2", "a2"] {
        chat.set([say(id, "a step")]);
        let _saved = chat.save().await.unwrap();
    }
    chat.set([say("a3", "cut off")]);
    assert!(chat.save().await.is_err());
    // The process ends here.
    drop(chat);
    assert_eq!(stored(&inner, "main").await, [CHAT[0], CHAT[1], "u2: a step", "a2: a step"]);
}
