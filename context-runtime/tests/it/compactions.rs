//! Compactions: the history shown and kept, other processes, other writers, and undo.

use context_runtime::Origin;
use std::sync::Arc;

use context_runtime::{
    ConflictPolicy, ContextEngine, DiagnosticCode, Edits, ErrorKind, Message, PlanReport, Role,
    SaveOutcome, Timestamp,
    compaction::{BoundaryKind, HistoryRewrite, Price},
    fragments::Encoded,
    last_assistant_message,
    store::{Chain, Node, NodeKind, Target},
    store::{Commit, StoredBoundary},
};

use crate::kit::{builder, say, shown, store, stored, texts, with_messages};

/// The history after a compaction. A position alone keeps that message, a position with text
/// shortens it, and text without a position is a message of the compaction's own. Messages that are
/// not listed are removed.
pub(crate) type Recipe<'a> = &'a [(Option<usize>, Option<&'a str>)];

pub(crate) fn compacted(history: &Chain, recipe: Recipe<'_>) -> HistoryRewrite {
    let messages: Vec<_> = history.iter().filter_map(|node| node.message().ok().cloned()).collect();
    let mut out = HistoryRewrite::identity(&[]);
    for (origin, text) in recipe {
        out.messages.push(match (origin, text) {
            (Some(origin), None) => Arc::clone(&messages[*origin]),
            (Some(origin), Some(text)) => Arc::new(Message::text(messages[*origin].role, *text)),
            (None, text) => {
                Arc::new(Message::from(text.unwrap_or_default()).with_origin(Origin::Checkpoint))
            }
        });
        out.origins.push(*origin);
    }
    out
}

pub(crate) fn report(policy: &'static str, kind: BoundaryKind, description: &str) -> PlanReport {
    let messages = [Arc::new(Message::from("long")), Arc::new(Message::from("newest"))];
    let counter = context_runtime::tokens::ModelTable::builtin().model("gpt-4o").counter();
    let view = context_runtime::compaction::HistoryView::new(&messages, &counter);
    let edits = vec![context_runtime::compaction::Edit::replace(0, Message::from(""))];
    let plan =
        context_runtime::compaction::Plan::new(policy, kind, &view, edits, description).unwrap();
    PlanReport::new(&plan, Price::default(), true, "")
}

/// Compacts the history shown, and saves.
pub(crate) async fn compact(engine: &mut ContextEngine, recipe: Recipe<'_>) {
    let turn = engine.resolve().await.unwrap();
    let history = &turn.messages;
    let compacted = compacted(history, recipe);
    engine.compact(&turn, &compacted, &[]).await.unwrap().unwrap();
    let _saved = engine.save().await.unwrap();
}

pub(crate) const KEEP_ENDS: Recipe<'_> = &[(None, Some("so far")), (Some(3), None)];

#[tokio::test]
async fn a_compacted_history_is_shown_at_once_and_by_the_next_process_and_all_of_it_stays() {
    let store = store().await;
    let mut engine = with_messages(&store, &["u1", "a1", "u2"]).await;
    engine.set([say("a2", "text a2")]);
    let turn = engine.resolve().await.unwrap();
    let history = &turn.messages;
    let reports = [report("summarize", BoundaryKind::Compact, "3 messages")];
    let id =
        engine.compact(&turn, &compacted(history, KEEP_ENDS), &reports).await.unwrap().unwrap();
    let expected = [format!("{id}/0: so far"), "a2: text a2".to_owned()];
    assert_eq!(shown(&mut engine).await, expected, "before it is saved");
    let saved = engine.save().await.unwrap();
    assert_eq!((saved.outcome, saved.head), (SaveOutcome::Saved, Some(id.clone())));
    assert_eq!(shown(&mut engine).await, expected);
    assert_eq!(stored(&store, "main").await, expected, "in the next process");

    let mut next = builder(&store).open().await.unwrap();
    let told = next.inspect().await.unwrap().boundaries;
    assert_eq!(
        (told.len(), told[0].kind, told[0].retained_messages),
        (1, BoundaryKind::Compact, 2)
    );
    assert_eq!(told[0].metadata.get("policy").unwrap().as_str(), "\"summarize\"");
    // The messages that the compaction made are not stored as messages, and no message is gone.
    let graph = next.graph().await.unwrap();
    let roles: Vec<_> = graph.nodes.iter().map(|placed| placed.node.kind).collect();
    let [user, assistant] = [Role::User, Role::Assistant].map(NodeKind::Message);
    assert_eq!(roles, [user, assistant, user, assistant, NodeKind::Boundary]);
}

#[tokio::test]
async fn a_compaction_that_changes_nothing_writes_nothing() {
    let store = store().await;
    let mut engine = with_messages(&store, &["u1", "a1"]).await;
    let turn = engine.resolve().await.unwrap();
    let history = &turn.messages;
    let same = compacted(history, &[(Some(0), None), (Some(1), None)]);
    assert_eq!(engine.compact(&turn, &same, &[]).await.unwrap(), None);
    assert_eq!(engine.save().await.unwrap().outcome, SaveOutcome::Unchanged);
    assert_eq!(engine.undo_compaction().await.unwrap(), None);
    assert_eq!(engine.redo_compaction().await.unwrap(), None);
}

#[tokio::test]
async fn an_undo_walks_back_and_a_redo_forward_and_nothing_said_since_is_lost() {
    let store = store().await;
    let mut engine = with_messages(&store, &["u1", "a1", "u2", "a2"]).await;
    let whole = shown(&mut engine).await;
    compact(
        &mut engine,
        &[(Some(0), None), (Some(1), Some("short")), (Some(2), None), (Some(3), None)],
    )
    .await;
    let first = shown(&mut engine).await;
    engine.set([say("u3", "text u3")]);
    compact(&mut engine, &[(None, Some("so far")), (Some(4), None)]).await;
    let second = shown(&mut engine).await;
    engine.set([say("a3", "text a3")]);
    let _saved = engine.save().await.unwrap();
    let with = |texts: &[String], more: &[&str]| {
        let more = more.iter().map(|id| format!("{id}: text {id}"));
        texts.iter().cloned().chain(more).collect::<Vec<_>>()
    };
    for save in [true, false] {
        let steps = [with(&first, &["u3", "a3"]), with(&whole, &["u3", "a3"])];
        for expected in steps {
            engine.undo_compaction().await.unwrap().unwrap();
            assert_eq!(shown(&mut engine).await, expected);
            if save {
                let _saved = engine.save().await.unwrap();
                assert_eq!(stored(&store, "main").await, expected);
            }
        }
        assert_eq!(engine.undo_compaction().await.unwrap(), None);
        assert!(engine.inspect().await.unwrap().boundaries.is_empty());
        while engine.redo_compaction().await.unwrap().is_some() {
            let _saved = engine.save().await.unwrap();
        }
        assert_eq!(shown(&mut engine).await, with(&second, &["a3"]));
        assert_eq!(stored(&store, "main").await, with(&second, &["a3"]));
    }
}

#[tokio::test]
async fn a_second_compaction_keeps_what_the_first_had_kept() {
    let store = store().await;
    let mut engine = with_messages(&store, &["u1", "a1", "u2", "a2"]).await;
    compact(
        &mut engine,
        &[(None, Some("facts")), (Some(1), Some("short")), (Some(2), None), (Some(3), None)],
    )
    .await;
    engine.set([say("u3", "text u3")]);
    let turn = engine.resolve().await.unwrap();
    let history = &turn.messages;
    let checkpoint = history[0].id.clone();
    let recipe: Recipe<'_> = &[(Some(0), None), (Some(1), None), (Some(3), None), (Some(4), None)];
    engine.compact(&turn, &compacted(history, recipe), &[]).await.unwrap().unwrap();
    let _saved = engine.save().await.unwrap();
    let expected = [
        format!("{checkpoint}: facts"),
        "a1: short".into(),
        "a2: text a2".into(),
        "u3: text u3".into(),
    ];
    assert_eq!(stored(&store, "main").await, expected);
    assert_eq!(engine.inspect().await.unwrap().boundaries.len(), 2);
}

#[tokio::test]
async fn two_compactions_before_a_save_are_one_boundary() {
    let store = store().await;
    let mut engine = with_messages(&store, &["u1", "a1", "u2", "a2"]).await;
    for (recipe, kind) in [
        (
            &[(Some(0), None), (Some(1), Some("short")), (Some(2), None), (Some(3), None)][..],
            BoundaryKind::Microcompact,
        ),
        (&[(Some(0), None), (Some(1), None), (Some(3), None)][..], BoundaryKind::Snip),
    ] {
        let turn = engine.resolve().await.unwrap();
        let history = &turn.messages;
        let reports = [report("test", kind, kind.as_str())];
        engine.compact(&turn, &compacted(history, recipe), &reports).await.unwrap().unwrap();
    }
    let _saved = engine.save().await.unwrap();
    let expected = ["u1: text u1", "a1: short", "a2: text a2"];
    assert_eq!(stored(&store, "main").await, expected);
    let all = engine.compactions().await.unwrap();
    assert_eq!((all.len(), all[0].stands, all[0].pending), (1, true, false));
    assert_eq!(
        (&*all[0].boundary.description, all[0].boundary.steps.len()),
        ("microcompact, snip", 2)
    );
    engine.undo_compaction().await.unwrap().unwrap();
    assert_eq!(shown(&mut engine).await.len(), 4);
}

#[tokio::test]
async fn what_somebody_says_while_it_is_compacted_is_part_of_the_next_request() {
    for late in ["pending before", "pending after", "another writer"] {
        let store = store().await;
        let mut engine = with_messages(&store, &["u1", "a1", "u2", "a2"]).await;
        let turn = engine.resolve().await.unwrap();
        let history = &turn.messages;
        let short = compacted(history, &[(None, Some("so far")), (Some(2), None)]);
        if late == "pending before" {
            engine.set([say("u3", "wait")]);
        }
        engine.compact(&turn, &short, &[]).await.unwrap().unwrap();
        if late == "pending after" {
            engine.set([say("u3", "wait")]);
        }
        if late == "another writer" {
            let mut other = builder(&store).ids(context_runtime::Uuid7Ids).open().await.unwrap();
            other.set([say("u3", "wait")]);
            let _saved = other.save().await.unwrap();
        }
        let saved = engine.save().await.unwrap();
        if late == "another writer" {
            assert_eq!(saved.outcome, SaveOutcome::Grafted { onto: Some("u3".into()) });
        }
        let expected = ["so far", "u2: text u2", "u3: wait"];
        let now = shown(&mut engine).await;
        assert!(now[0].ends_with(expected[0]), "{late}");
        assert_eq!(now[1..], expected[1..], "{late}");
        assert_eq!(stored(&store, "main").await, now, "{late}");
    }
}

#[tokio::test]
async fn of_two_who_compact_at_once_one_conflicts_or_goes_on_a_branch_of_its_own() {
    for policy in [ConflictPolicy::Fail, ConflictPolicy::Fork] {
        let store = store().await;
        let _first = with_messages(&store, &["u1", "a1", "u2", "a2"]).await;
        let mut engine = builder(&store)
            .on_conflict(policy)
            .ids(context_runtime::Uuid7Ids)
            .open()
            .await
            .unwrap();
        let mut other = builder(&store).ids(context_runtime::Uuid7Ids).open().await.unwrap();
        for engine in [&mut engine, &mut other] {
            let turn = engine.resolve().await.unwrap();
            let history = &turn.messages;
            let short = compacted(history, &[(Some(2), None), (Some(3), None)]);
            engine.compact(&turn, &short, &[]).await.unwrap().unwrap();
        }
        let _saved = other.save().await.unwrap();
        let lines = ["u2: text u2", "a2: text a2"];
        match policy {
            ConflictPolicy::Fail => {
                assert_eq!(engine.save().await.unwrap_err().kind(), ErrorKind::Conflict);
                assert!(
                    engine.compactions().await.unwrap().last().unwrap().pending,
                    "it is not lost"
                );
            }
            _ => {
                let saved = engine.save().await.unwrap();
                assert_eq!(saved.outcome, SaveOutcome::Forked { from: "main".into() });
                assert_eq!(stored(&store, saved.branch.as_str()).await, lines);
            }
        }
        assert_eq!(stored(&store, "main").await, lines);
    }
}

#[tokio::test]
async fn a_history_that_is_not_shown_any_more_is_not_compacted() {
    let store = store().await;
    let mut engine = with_messages(&store, &["u1", "a1", "u2"]).await;
    let turn = engine.resolve().await.unwrap();
    let history = &turn.messages;
    let short = compacted(history, &[(Some(2), None)]);
    let backwards = compacted(history, &[(Some(2), None), (Some(0), None)]);
    assert_eq!(
        engine.compact(&turn, &backwards, &[]).await.unwrap_err().kind(),
        ErrorKind::Invalid
    );
    let beyond = compacted(history, &[(Some(2), None)]);
    let mut begun = turn.clone();
    begun.messages = history.prefix(1);
    let error = engine.compact(&begun, &beyond, &[]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    engine.compact(&turn, &short, &[]).await.unwrap().unwrap();
    let error = engine.compact(&turn, &short, &[]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "u1 went with the first");
    let _moved = engine.rewind(&"a1".into()).await.unwrap();
    let error = engine.compact(&turn, &short, &[]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "u2 is on another branch");
    assert_eq!(shown(&mut engine).await.len(), 2, "what was pending went with the branch");
}

#[tokio::test]
async fn an_amended_message_is_shown_as_it_is_now() {
    let store = store().await;
    let mut engine = with_messages(&store, &["u1", "a1", "u2", "a2"]).await;
    compact(&mut engine, &[(Some(0), None), (Some(1), Some("short")), (Some(3), None)]).await;
    engine.set([say("a1", "other words")]);
    let _saved = engine.save_with(Edits::Amend).await.unwrap();
    engine.set([last_assistant_message("the end")]);
    let _saved = engine.save().await.unwrap();
    let expected = ["u1: text u1", "a1: other words", "a2: the end"];
    assert_eq!(shown(&mut engine).await, expected);
    assert_eq!(stored(&store, "main").await, expected);
}

#[tokio::test]
async fn an_answer_that_was_awaited_is_shown_behind_a_boundary() {
    let store = store().await;
    let mut engine = with_messages(&store, &["u1", "a1"]).await;
    let answer = engine.continue_turn(say("u2", "go on")).await.unwrap();
    compact(&mut engine, &[(None, Some("so far")), (Some(2), None)]).await;
    assert_eq!(shown(&mut engine).await[1..], ["u2: go on"]);
    let filled = context_runtime::assistant("here").with_id(answer.as_str());
    engine.continue_turn(filled).await.unwrap();
    let next = engine.continue_turn(say("u3", "more")).await.unwrap();
    engine.continue_turn(context_runtime::assistant("there").with_id(next.as_str())).await.unwrap();
    let now = shown(&mut engine).await;
    let answers = [format!("{answer}: here"), format!("{next}: there")];
    assert_eq!(now[1..], ["u2: go on", &answers[0], "u3: more", &answers[1]]);
    assert_eq!(stored(&store, "main").await, now);
}

#[tokio::test]
async fn an_edit_of_what_a_compaction_stands_for_leaves_the_compaction_behind() {
    let store = store().await;
    let mut engine = with_messages(&store, &["u1", "a1", "u2", "a2"]).await;
    let turn = engine.resolve().await.unwrap();
    let history = &turn.messages;
    engine.compact(&turn, &compacted(history, KEEP_ENDS), &[]).await.unwrap().unwrap();
    engine.set([say("u2", "something else")]);
    let saved = engine.save().await.unwrap();
    assert_eq!(saved.outcome, SaveOutcome::Edited { from: "main".into() });
    let now = shown(&mut engine).await;
    assert_eq!(now.len(), 3);
    assert!(now[2].ends_with(": something else"));
    assert_eq!(engine.compactions().await.unwrap(), []);
    assert_eq!(engine.save().await.unwrap().outcome, SaveOutcome::Unchanged);

    // A message that the compaction only kept may be edited in the same save.
    let turn = engine.resolve().await.unwrap();
    let history = &turn.messages;
    let short = compacted(history, &[(Some(0), None), (Some(1), Some("short")), (Some(2), None)]);
    engine.compact(&turn, &short, &[]).await.unwrap().unwrap();
    engine.set([say(history[2].id.as_str(), "again")]);
    let saved = engine.save().await.unwrap();
    let now = shown(&mut engine).await;
    assert_eq!(now[..2], ["u1: text u1", "a1: short"]);
    assert!(now[2].ends_with(": again"));
    assert_eq!(stored(&store, saved.branch.as_str()).await, now);
}

#[tokio::test]
async fn branches_checkpoints_and_counts_are_those_of_the_whole_history() {
    let store = store().await;
    let mut engine = with_messages(&store, &["u1", "a1", "u2", "a2"]).await;
    compact(&mut engine, KEEP_ENDS).await;
    let boundary = engine.compactions().await.unwrap()[0].id.clone();
    let compacted = shown(&mut engine).await;
    assert_eq!(engine.turn_count().await.unwrap(), 2);
    assert_eq!(engine.first_user_message().await.unwrap().unwrap().id, "u1");
    assert_eq!(engine.head_message().await.unwrap().unwrap().id, "a2");
    let checkpoint = engine.checkpoint("compacted").await.unwrap();
    assert_eq!(checkpoint.message, boundary);

    let early = engine.rewind(&"u2".into()).await.unwrap();
    assert_eq!(shown(&mut engine).await, ["u1: text u1", "a1: text a1", "u2: text u2"]);
    assert_eq!(engine.compactions().await.unwrap(), []);
    let moved = engine.restore("compacted").await.unwrap();
    assert_eq!(moved.head, Some(boundary.clone()));
    assert_eq!(shown(&mut engine).await, compacted);
    let late = engine.rewind(&boundary).await.unwrap();
    assert_eq!(shown(&mut engine).await, compacted);

    let diff = engine.diff(&"main".into(), &early.branch).await.unwrap();
    assert_eq!((diff.common, diff.left.head(), diff.right.len()), (3, Some(&boundary), 0));
    let error = engine.cherry_pick(&[boundary], late.branch.clone()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let _picked = engine.cherry_pick(&["u1".into()], late.branch).await.unwrap();
    let now = shown(&mut engine).await;
    assert_eq!(now[..2], compacted[..]);
    assert!(now[2].ends_with(": text u1"), "a copy behind the boundary is a message as any");
}

#[tokio::test]
async fn a_boundary_that_cannot_be_read_cuts_nothing_and_is_told() {
    let store = store().await;
    let mut engine = with_messages(&store, &["u1", "a1", "u2"]).await;
    compact(&mut engine, &[(Some(0), None), (Some(2), None)]).await;
    let head = engine.compactions().await.unwrap()[0].id.clone();
    for (n, body) in [
        Encoded::new(StoredBoundary::KIND, StoredBoundary::VERSION + 1, "{}"),
        Encoded::new(StoredBoundary::KIND, 1, "no json"),
        Encoded::new("cut", 1, "{}"),
    ]
    .into_iter()
    .enumerate()
    {
        let expected = if n == 0 { head.clone() } else { format!("new{}", n - 1).into() };
        let node = Node::from_encoded(
            format!("new{n}").into(),
            NodeKind::Boundary,
            Timestamp::from_micros(9),
            body,
        );
        let target = Target::Extend { branch: "main".into(), expected: Some(expected) };
        let mut commit = Commit::new(engine.chat_ref().clone(), target, Timestamp::from_micros(9));
        commit.nodes = vec![Arc::new(node)];
        let _applied = store.history().commit(commit).await.unwrap();
        let resolved = engine.resolve().await.unwrap();
        assert_eq!(
            texts(&resolved.messages),
            ["u1: text u1", "u2: text u2"],
            "the one before it holds"
        );
        assert_eq!(resolved.diagnostics.len(), n + 1);
        let told = &resolved.diagnostics[n];
        assert_eq!(
            (told.code, &*told.path),
            (DiagnosticCode::UnreadableMessage, &*format!("boundary new{n}"))
        );
    }
}
