//! Small queries on errors, failures, plans and stored messages.

use context_core::message::Origin;
use std::sync::Arc;

use context_core::base::limits;
use context_core::history::{
    Attempt, BoundaryKind, Edit, Failure, HistoryView, Plan, PlanError, RecoveryDecision,
};
use context_core::model::{ModelErrorCode, TokenCount, TokenCounter};
use context_core::{Error, Message, ModelError, Node, Role, Timestamp};

/// Counts one token per byte.
#[derive(Debug)]
struct Bytes;

impl TokenCounter for Bytes {
    fn name(&self) -> &str {
        "bytes"
    }

    fn count(&self, text: &str) -> TokenCount {
        TokenCount::exact(text.len() as u64)
    }
}

#[test]
fn a_failure_knows_whether_the_history_was_made_smaller() {
    let error = ModelError::new("anyone", ModelErrorCode::ContextOverflow, "too long");
    let view = HistoryView::new(&[], &Bytes);
    let reason = String::new;
    let smaller = [
        RecoveryDecision::TruncateHeadAndRetry { keep_ratio: 0.5, reason: reason() },
        RecoveryDecision::CompactAndRetry {
            window: None,
            max_output_tokens: None,
            reason: reason(),
        },
    ];
    let other = RecoveryDecision::StripImagesAndRetry { reason: reason() };
    let attempted = |decisions: &[RecoveryDecision], has_attempted: bool| {
        let attempts: Vec<_> =
            decisions.iter().map(|one| Attempt::new(one.clone(), 10, 9)).collect();
        let mut failure = Failure::new(&error, &view);
        (failure.attempts, failure.has_attempted_compact) = (&attempts, has_attempted);
        failure.attempted()
    };
    assert!(!attempted(&[], false) && attempted(&[], true));
    assert!(!attempted(&[other], false), "media are no part of the history");
    assert!(smaller.iter().all(|one| attempted(std::slice::from_ref(one), false)));
}

#[test]
fn an_error_tells_its_facts_in_order() {
    let error = Error::invalid("save", "too long").with("chat", "lisbon").with("limit", 3);
    assert_eq!(error.context().collect::<Vec<_>>(), [("chat", "lisbon"), ("limit", "3")]);
    assert_eq!((error.get("limit"), error.get("user")), (Some("3"), None));
}

/// A stored message is not parsed if its last bytes suffice.
#[test]
fn a_turn_is_what_the_user_said() {
    let is_turn = |message: Message| Node::new("m", message, Timestamp::from_micros(1)).is_turn();
    let marked = |message: Message| message.with_origin(Origin::Synthetic);
    assert!(is_turn(Message::from("Go on.")) && !is_turn(marked(Message::from("Go on."))));
    assert!(
        is_turn(Message::from("it ends with }}"))
            && is_turn(Message::from("x").with_origin(Origin::CarriedOver))
    );
    assert!(!is_turn(Message::text(Role::Assistant, "Done.")));
}

#[test]
fn ids_have_a_length() {
    let check = |id: &str| limits::check_id("save", "chat", id);
    assert!(check("lisbon").is_ok() && check(&"x".repeat(limits::MAX_ID_BYTES)).is_ok());
    for bad in ["", &"x".repeat(limits::MAX_ID_BYTES + 1)] {
        let error = check(bad).unwrap_err();
        assert!(error.to_string().contains("chat"), "{error}");
    }
}

#[test]
fn edits_stand_in_order_and_beside_each_other() {
    let messages: Vec<_> =
        (0..6).map(|n| Arc::new(Message::text(Role::Assistant, format!("message {n}")))).collect();
    let view = HistoryView::new(&messages, &Bytes);
    let plan = |edits: Vec<Edit>| Plan::of_any_size("test", BoundaryKind::Snip, &view, edits, "");
    let adjacent = plan(vec![Edit::remove(1..3), Edit::remove(3..4)]).unwrap();
    assert_eq!(adjacent.apply(&messages).unwrap().origins, [0, 4, 5].map(Some));
    for (edits, bad) in [
        (vec![Edit::remove(1..3), Edit::remove(2..4)], 1),
        (vec![Edit::remove(3..4), Edit::remove(0..1)], 1),
        (vec![Edit::remove(5..7)], 0),
    ] {
        assert_eq!(plan(edits), Err(PlanError::Misfit { edit: bad }));
    }
}
