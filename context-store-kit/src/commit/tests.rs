//! The cases of a commit's decision.

use context_core::base::limits::MAX_ID_BYTES;
use context_core::store::{ChatPatch, NewChat, TitleChange};
use context_core::{ChatRef, ErrorKind, Message};
use proptest::prelude::*;

use super::*;
use crate::ChatState;

fn node(id: &str, text: &str) -> Arc<Node> {
    Arc::new(Node::new(id, Message::from(text), Timestamp::default()))
}

fn commit(target: Target, new: &[&str]) -> Commit {
    let nodes = new.iter().map(|id| node(id, id)).collect();
    Commit { nodes, ..Commit::new(ChatRef::new("u", "c"), target, Timestamp::default()) }
}

fn extend(expected: Option<&str>) -> Target {
    Target::Extend { branch: "main".into(), expected: expected.map(MessageId::from) }
}

fn graft(seen: Option<&str>) -> Target {
    Target::Graft { branch: "main".into(), seen: seen.map(MessageId::from) }
}

fn fork(name: ForkName, at: Option<&str>) -> Target {
    Target::Fork { name, at: at.map(MessageId::from), activate: false }
}

fn exact(name: &str) -> ForkName {
    ForkName::Exact(name.into())
}

/// The facts of a chat whose branch `main` has the messages `a` and `b`.
fn facts(commit: &Commit) -> CommitFacts<u8> {
    let mut facts = CommitFacts::new();
    let place = |id: &MessageId| match id.as_str() {
        "a" => Some((id.clone(), 1)),
        "b" => Some((id.clone(), 2)),
        _ => None,
    };
    facts.stored = named_messages(commit).filter_map(place).collect();
    let branch = match &commit.target {
        Target::Stay => None,
        Target::Extend { branch, .. } | Target::Graft { branch, .. } => Some(branch),
        Target::Fork { name, .. } => Some(name.base()),
    };
    if branch.is_some_and(|name| name.as_str() == "main") {
        facts.head = BranchHead::At(Some("b".into()));
    }
    facts.seen = seen_on(commit).and_then(|(_, seen)| match seen.as_str() {
        "a" => Some(0),
        "b" => Some(1),
        _ => None,
    });
    facts.names = vec!["main".into(), "main-v2".into()];
    if facts.repeated_on(commit).is_some() {
        let stored = [("a", None, 0), ("b", Some("a"), 1)].into_iter();
        let stored = stored.filter(|(id, ..)| commit.nodes.iter().any(|node| node.id == **id));
        let placed = |(id, parent, depth): (&str, Option<&str>, u64)| {
            PlacedNode::new(node(id, id), parent.map(MessageId::from), depth)
        };
        facts.repeated = stored.map(placed).collect();
    }
    facts
}

fn committed(branch: Option<&str>, head: Option<&str>, onto: Option<&str>) -> Committed {
    let committed = Committed::new(branch.map(BranchName::from), head.map(MessageId::from));
    committed.with_onto(onto.map(MessageId::from))
}

fn plan(commit: &Commit, facts: CommitFacts<u8>) -> CommitPlan<u8> {
    match decide_commit(commit, facts) {
        Ok(CommitDecision::Write(plan)) => plan,
        other => panic!("{other:?} instead of a write"),
    }
}

fn outcome(commit: &Commit, facts: CommitFacts<u8>) -> CommitOutcome {
    match decide_commit(commit, facts) {
        Ok(CommitDecision::Answer(outcome)) => outcome,
        other => panic!("{other:?} instead of an outcome"),
    }
}

fn refused(commit: &Commit, facts: CommitFacts<u8>) -> (ErrorKind, String) {
    let error = decide_commit(commit, facts).unwrap_err();
    (error.kind(), error.message().to_owned())
}

#[test]
fn every_target_has_its_branch_and_head() {
    let next = || ForkName::NextVersionOf("main".into());
    let (main, b) = (Some("main"), Some("b"));
    let cases = [
        (commit(Target::Stay, &[]), (None, None, None), None),
        (commit(extend(b), &["c", "d"]), (main, Some("d"), None), None),
        (commit(extend(b), &[]), (main, b, None), None),
        (commit(graft(b), &["c"]), (main, Some("c"), b), None),
        (commit(graft(Some("a")), &["c", "d"]), (main, Some("d"), b), None),
        (commit(graft(None), &["c"]), (main, Some("c"), b), None),
        (commit(graft(Some("a")), &[]), (main, b, b), None),
        (commit(fork(exact("x"), None), &["c"]), (Some("x"), Some("c"), None), None),
        (commit(fork(exact("x"), Some("a")), &[]), (Some("x"), Some("a"), None), Some(1)),
        (commit(fork(next(), b), &[]), (Some("main-v3"), b, None), Some(2)),
    ];
    let cases = cases.map(|(commit, (branch, head, onto), fork_point)| {
        (commit, committed(branch, head, onto), fork_point)
    });
    for (commit, expected, fork_point) in cases {
        let plan = plan(&commit, facts(&commit));
        assert_eq!((plan.committed, plan.fork_point), (expected, fork_point), "{commit:?}");
        assert_eq!((plan.changed, plan.patched, plan.digest), (vec![], None, None));
    }
}

#[test]
fn a_write_has_the_places_of_changed_messages_the_patched_chat_and_the_digest() {
    let commit = Commit {
        amendments: vec![node("b", "new")],
        redactions: vec![node("a", "")],
        patch: Some(ChatPatch { title: TitleChange::Set("t".into()), ..ChatPatch::default() }),
        key: Some("k".into()),
        ..commit(fork(exact("x"), Some("a")), &["c"])
    };
    let mut facts = facts(&commit);
    facts.chat = Some(Chat::new(NewChat::new(commit.chat.clone(), commit.at)));
    let plan = plan(&commit, facts);
    assert_eq!((plan.changed, plan.fork_point), (vec![2, 1], Some(1)));
    assert_eq!(plan.patched.and_then(|chat| chat.title).as_deref(), Some("t"));
    assert_eq!(plan.digest, Some(commit.digest()));
    let replaced: Vec<_> = changes(&commit).map(|(_, replaced)| replaced).collect();
    assert_eq!(replaced, [Some(commit.at), None]);
}

#[test]
fn a_known_key_decides_before_everything_else() {
    let commit = Commit { key: Some("k".into()), ..commit(extend(Some("gone")), &["a"]) };
    let mut known = facts(&commit);
    known.known = Some((commit.digest(), committed(Some("main"), Some("z"), None)));
    let replayed = CommitOutcome::Replayed(committed(Some("main"), Some("z"), None));
    assert_eq!(outcome(&commit, known.clone()), replayed);
    known.known = Some(([7; 32], committed(None, None, None)));
    let (kind, message) = refused(&commit, known);
    assert_eq!(kind, ErrorKind::Invalid);
    assert!(message.contains("key"), "{message}");
}

#[test]
fn stored_messages_are_a_replay_only_if_they_are_the_same_on_the_named_branch() {
    let exists = |ids: &[&str]| CommitOutcome::Exists {
        ids: ids.iter().map(|id| MessageId::from(*id)).collect(),
    };
    let replayed = |branch, onto| CommitOutcome::Replayed(committed(Some(branch), Some("b"), onto));
    let other = Commit { nodes: vec![node("b", "other")], ..commit(extend(Some("a")), &[]) };
    let next = fork(ForkName::NextVersionOf("main".into()), None);
    let cases = [
        (commit(extend(None), &["a", "b"]), replayed("main", None)),
        (commit(extend(Some("a")), &["b"]), replayed("main", None)),
        (commit(fork(exact("x"), Some("a")), &["b"]), replayed("x", None)),
        (commit(graft(None), &["a", "b"]), replayed("main", None)),
        (commit(graft(None), &["b"]), replayed("main", Some("a"))),
        (commit(graft(Some("a")), &["b"]), replayed("main", Some("a"))),
        // What a graft has seen comes before what it adds.
        (commit(graft(Some("b")), &["b"]), exists(&["b"])),
        (commit(graft(Some("gone")), &["b"]), exists(&["b"])),
        (commit(graft(Some("a")), &["b", "c"]), exists(&["b"])),
        (commit(extend(Some("b")), &["b"]), exists(&["b"])),
        (commit(extend(None), &["b", "a"]), exists(&["b", "a"])),
        (commit(extend(Some("a")), &["b", "c"]), exists(&["b"])),
        (commit(extend(Some("gone")), &["b"]), exists(&["b"])),
        (commit(next, &["a", "b"]), exists(&["a", "b"])),
        (other, exists(&["b"])),
    ];
    for (commit, expected) in cases {
        assert_eq!(outcome(&commit, facts(&commit)), expected, "{commit:?}");
    }
    // The branch does not reach the last message.
    let commit = commit(extend(None), &["a", "b"]);
    let mut facts = facts(&commit);
    facts.repeated.clear();
    assert_eq!(outcome(&commit, facts), exists(&["a", "b"]));
}

#[test]
fn another_head_or_a_taken_name_is_a_conflict() {
    let targets =
        [extend(Some("a")), extend(None), graft(Some("gone")), fork(exact("main"), Some("a"))];
    for target in targets {
        let commit = commit(target, &["c"]);
        let conflict = CommitOutcome::Conflict { actual: Some("b".into()) };
        assert_eq!(outcome(&commit, facts(&commit)), conflict, "{commit:?}");
    }
}

#[test]
fn a_commit_is_refused_for_a_thing_that_does_not_exist() {
    let stay = || commit(Target::Stay, &[]);
    let gone = Target::Extend { branch: "gone".into(), expected: None };
    let cases = [
        commit(gone, &["c"]),
        commit(Target::Graft { branch: "gone".into(), seen: None }, &["c"]),
        commit(fork(exact("x"), Some("gone")), &["c"]),
        // A fork point is looked for before the name is.
        commit(fork(exact("main"), Some("gone")), &["c"]),
        Commit { amendments: vec![node("gone", "x")], ..stay() },
        Commit { redactions: vec![node("gone", "x")], ..stay() },
        Commit { patch: Some(ChatPatch::default()), ..stay() },
    ];
    for commit in cases {
        assert_eq!(refused(&commit, facts(&commit)).0, ErrorKind::NotFound, "{commit:?}");
    }
    let long = "n".repeat(MAX_ID_BYTES);
    let commit = commit(fork(ForkName::NextVersionOf(long.into()), None), &["c"]);
    assert_eq!(refused(&commit, facts(&commit)).0, ErrorKind::Invalid);
}

#[test]
fn only_new_messages_at_a_head_are_a_plain_append() {
    let append = || commit(extend(Some("b")), &["c"]);
    let (branch, head) = ("main".into(), "b".into());
    let plain = PlainAppend { branch: &branch, seen: Some(&head), grafts: false };
    assert_eq!(plain_append(&append()), Some(plain));
    let grafted = PlainAppend { grafts: true, ..plain };
    assert_eq!(plain_append(&commit(graft(Some("b")), &["c"])), Some(grafted));
    let mut boundary = Node::clone(&node("c", "c"));
    boundary.kind = NodeKind::Boundary;
    let others = [
        commit(extend(Some("b")), &[]),
        commit(fork(exact("x"), None), &["c"]),
        Commit { key: Some("k".into()), ..append() },
        Commit { amendments: vec![node("a", "x")], ..append() },
        Commit { redactions: vec![node("a", "x")], ..append() },
        Commit { patch: Some(ChatPatch::default()), ..append() },
        Commit { nodes: vec![boundary.into()], ..append() },
    ];
    for commit in others {
        assert_eq!(plain_append(&commit), None, "{commit:?}");
    }
}

/// A commit of a small random chat: its target, its new messages, whether it has a key.
fn random_commit() -> impl Strategy<Value = Commit> {
    let id = || prop::sample::select(vec!["a", "b", "c", "d", "e"]);
    let target = (0..5, prop::option::of(id())).prop_map(|(kind, at)| match kind {
        0 => Target::Stay,
        1 => fork(exact("main-v2"), at),
        2 => fork(ForkName::NextVersionOf("main".into()), at),
        3 => graft(at),
        _ => extend(at),
    });
    let new = prop::sample::subsequence(vec!["a", "b", "c", "d", "e"], 0..3);
    (target, new, any::<bool>()).prop_map(|(target, new, keyed)| {
        let new = if target == Target::Stay { Vec::new() } else { new };
        let key = keyed.then(|| format!("{target:?}{new:?}").into());
        Commit { key, ..commit(target, &new) }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None,
        ..ProptestConfig::default() })]

    #[test]
    fn a_commit_that_is_sent_twice_is_written_once(
        commits in prop::collection::vec(random_commit(), 1..8)) {
        let chat = Chat::new(NewChat::new(ChatRef::new("u", "c"), Timestamp::default()));
        let mut state = ChatState::new(chat, 1);
        for commit in commits {
            let Ok(CommitOutcome::Applied(applied)) = state.commit(commit.clone()) else {
                continue;
            };
            prop_assert_eq!(state.check(), vec![]);
            let head = applied.branch.as_ref().map(|name| {
                state.branches().into_iter().find(|branch| branch.name == *name)
            });
            let head = head.flatten().and_then(|branch| branch.head);
            prop_assert_eq!(&head, &applied.head);
            let written = state.clone();
            let named = !matches!(&commit.target,
                Target::Fork { name: ForkName::NextVersionOf(_), .. });
            let again = state.commit(commit.clone());
            if commit.key.is_some() || named && !commit.nodes.is_empty() {
                prop_assert_eq!(again.unwrap(), CommitOutcome::Replayed(applied));
                prop_assert_eq!(&state, &written);
            } else if !commit.nodes.is_empty() {
                let exists = matches!(again, Ok(CommitOutcome::Exists { .. }));
                prop_assert!(exists, "{:?}", again);
            }
        }
    }
}
