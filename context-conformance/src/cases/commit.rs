//! Cases about commits: their effect, their refusal, and replays.

use context_core::store::{ChatPatch, Commit, CommitOutcome, Committed, Target, TitleChange};
use context_core::{ErrorKind, Metadata};
use serde_json::json;

use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::{ChatFixture, id, message, says, stored};
use crate::expect::{refused, same};
use crate::verdict::Check;
use crate::visible_chat::VisibleChat;

cases!("commit":
    first_and_next,
    one_and_a_thousand_messages,
    stale_head_is_a_conflict,
    without_messages_only_checks,
    refused_leaves_nothing,
    all_parts_are_written,
    same_key_is_replayed,
    same_key_other_content_is_refused,
    key_counts_once,
    keys_belong_to_a_chat,
    repeated_extend_is_replayed,
    stored_otherwise_exists,
    replay_needs_the_branch,
    ids_belong_to_a_chat,
    absent_branch_or_chat_is_not_found,
    messages_need_a_branch,
    same_id_twice_is_refused,
);

fn on(branch: &str, head: &str) -> Committed {
    Committed::new(Some(branch.into()), id(head))
}

async fn first_and_next(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    same(
        "the first commit",
        &fixture.commit(fixture.extend("", ["a"])).await?,
        &CommitOutcome::Applied(on("main", "a")),
    )?;
    let outcome = fixture.commit(fixture.extend("a", ["b", "c"])).await?;
    same("the next commit", &outcome, &CommitOutcome::Applied(on("main", "c")))?;
    fixture.expect_chain("main", &["a", "b", "c"]).await?;
    let branch = fixture.branch("main").await?;
    same("head and length of main", &branch.map(|b| (b.head, b.length)), &Some((id("c"), 3)))
}

async fn one_and_a_thousand_messages(case: &CaseContext) -> Check {
    for (count, per_commit) in [(1, 1), (1000, 1000), (1500, 700)] {
        let fixture = case.fixture().await?;
        let expected = fixture.fill(count, per_commit).await?;
        let seen = crate::chat_fixture::ids(&fixture.whole("main").await?);
        same(format!("{count} messages in commits of {per_commit}"), &seen, &expected)?;
    }
    Ok(())
}

async fn stale_head_is_a_conflict(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let conflict = |head: &str| CommitOutcome::Conflict { actual: id(head) };
    let outcome = fixture.commit(fixture.extend("ghost", ["x"])).await?;
    same("a commit behind a message that is nowhere, on an empty branch", &outcome, &conflict(""))?;
    fixture.applied(fixture.extend("", ["a", "b"])).await?;
    for expected in ["", "a", "ghost"] {
        let outcome = fixture.commit(fixture.extend(expected, ["x"])).await?;
        same(
            format!("a commit that expects head {expected:?} of a branch at \"b\""),
            &outcome,
            &conflict("b"),
        )?;
    }
    fixture.expect_chain("main", &["a", "b"]).await?;
    same(
        "the refused message",
        &fixture.history().messages(&fixture.chat, &["x".into()]).await?,
        &vec![None],
    )
}

async fn without_messages_only_checks(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let outcome = fixture.commit(fixture.extend("", [])).await?;
    same("no messages on an empty branch", &outcome, &CommitOutcome::Applied(on("main", "")))?;
    fixture.applied(fixture.extend("", ["a"])).await?;
    let mut check = fixture.extend("a", []);
    check.fragments = vec![stored("f", "x")];
    same(
        "no messages, right head",
        &fixture.commit(check).await?,
        &CommitOutcome::Applied(on("main", "a")),
    )?;
    let mut check = fixture.extend("", []);
    check.fragments = vec![stored("g", "x")];
    let conflict = CommitOutcome::Conflict { actual: id("a") };
    same("no messages, wrong head", &fixture.commit(check).await?, &conflict)?;
    let fragments = fixture.fragments().fragments(&fixture.chat).await?;
    same("the fragments of the two", &fragments, &vec![stored("f", "x")])
}

/// Extends a commit by every other kind of content.
fn everything(fixture: &ChatFixture, mut commit: Commit) -> Commit {
    commit.amendments = vec![says("a", "amended")];
    commit.fragments = vec![stored("f", "new"), stored("g", "new")];
    commit.patch = Some(ChatPatch {
        title: TitleChange::Set("new".into()),
        add: Metadata::default().with("n", 1),
        ..ChatPatch::default()
    });
    commit.at = fixture.at();
    commit
}

async fn refused_leaves_nothing(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a", "b"])).await?;
    fixture.applied(fixture.fork("taken", "a", [])).await?;
    fixture.fragments().put_fragments(&fixture.chat, &[stored("f", "old")], fixture.at()).await?;
    let before = VisibleChat::of(&fixture).await?;
    let unknown_amendment = |mut commit: Commit| {
        commit.amendments.push(message("ghost"));
        commit
    };
    let refused = [
        everything(&fixture, fixture.extend("a", ["x"])),
        everything(&fixture, fixture.extend("b", ["x", "b"])),
        everything(&fixture, fixture.fork("taken", "a", ["x"])),
        everything(&fixture, fixture.fork("new", "ghost", ["x"])),
        everything(&fixture, fixture.extend_on("ghost", "b", ["x"])),
        everything(&fixture, Commit { nodes: vec![message("x")], ..fixture.stay() }),
        unknown_amendment(everything(&fixture, fixture.extend("b", ["x"]))),
        unknown_amendment(everything(&fixture, fixture.fork("new", "a", ["x"]))),
    ];
    for mut commit in refused {
        commit.key = Some("refused".into());
        let did = format!("{:?} with {:?}", commit.target, commit.nodes);
        if let Ok(CommitOutcome::Applied(_) | CommitOutcome::Replayed(_)) =
            fixture.history().commit(commit).await
        {
            return crate::expect::fail(format!("{did}: expected a refusal, saw it accepted"));
        }
        same(
            format!("the chat after a refused commit: {did}"),
            &VisibleChat::of(&fixture).await?,
            &before,
        )?;
    }
    let mut commit = fixture.extend("b", ["x"]);
    commit.key = Some("refused".into());
    fixture.applied(commit).await.map(drop)
}

async fn all_parts_are_written(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a"])).await?;
    let commit = everything(&fixture, fixture.extend("a", ["b"]));
    let at = commit.at;
    fixture.applied(commit).await?;
    let chain = fixture.whole("main").await?;
    let texts: Vec<_> = chain.iter().map(|node| node.body().clone()).collect();
    let expected = vec![says("a", "amended").body().clone(), message("b").body().clone()];
    same("the bodies after a commit of everything", &texts, &expected)?;
    let fragments = fixture.fragments().fragments(&fixture.chat).await?;
    same("its fragments", &fragments, &vec![stored("f", "new"), stored("g", "new")])?;
    let chat = fixture.history().chat(&fixture.chat).await?;
    let seen = chat.map(|chat| (chat.title, chat.metadata, chat.updated_at));
    same(
        "title, metadata, time",
        &seen,
        &Some((Some("new".into()), Metadata::default().with("n", 1), at)),
    )
}

async fn same_key_is_replayed(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let mut keyed = everything(&fixture, fixture.extend("", ["b", "c"]));
    keyed.amendments.clear();
    keyed.key = Some("k".into());
    fixture.applied(keyed.clone()).await?;
    let before = VisibleChat::of(&fixture).await?;
    for later in ["", "d"] {
        if !later.is_empty() {
            fixture.applied(fixture.extend("c", [later])).await?;
        }
        let again = Commit { at: fixture.at(), ..keyed.clone() };
        let outcome = fixture.commit(again).await?;
        same(
            "the same commit with the same key again",
            &outcome,
            &CommitOutcome::Replayed(on("main", "c")),
        )?;
        if later.is_empty() {
            same("the chat afterwards", &VisibleChat::of(&fixture).await?, &before)?;
        }
    }
    fixture.expect_chain("main", &["b", "c", "d"]).await?;
    // A replayed fork with an exact name can be recognized only by its key.
    let mut fork = fixture.next_version("main", "b");
    fork.key = Some("fork".into());
    fixture.applied(fork.clone()).await?;
    let outcome = fixture.commit(fork).await?;
    same("a fork with the same key again", &outcome, &CommitOutcome::Replayed(on("main-v2", "b")))?;
    same("how many branches", &fixture.heads().await?.len(), &2)
}

async fn same_key_other_content_is_refused(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let keyed = |mut commit: Commit| {
        commit.key = Some("k".into());
        commit
    };
    fixture.applied(keyed(fixture.extend("", ["a"]))).await?;
    let before = VisibleChat::of(&fixture).await?;
    let others = [
        keyed(fixture.extend("a", ["b"])),
        keyed(Commit { nodes: vec![says("a", "something else")], ..fixture.extend("", []) }),
        keyed(fixture.extend("", ["a", "b"])),
        keyed(Commit { fragments: vec![stored("f", "x")], ..fixture.extend("", ["a"]) }),
        keyed(fixture.stay()),
        keyed(fixture.fork("side", "", ["a"])),
    ];
    for other in others {
        let did = format!("the same key with {:?}, {:?}", other.target, other.nodes);
        refused(did, fixture.history().commit(other).await, ErrorKind::Invalid)?;
    }
    same("the chat afterwards", &VisibleChat::of(&fixture).await?, &before)
}

async fn key_counts_once(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let add = Metadata::default().with("usage", json!({"in": 10}));
    let patch = Some(ChatPatch { add: add.clone(), ..ChatPatch::default() });
    let commit = Commit { key: Some("turn-1".into()), patch, ..fixture.stay() };
    let stayed = Committed::new(None, None);
    same(
        "counting",
        &fixture.commit(commit.clone()).await?,
        &CommitOutcome::Applied(stayed.clone()),
    )?;
    same("counting again", &fixture.commit(commit).await?, &CommitOutcome::Replayed(stayed))?;
    let chat = fixture.history().chat(&fixture.chat).await?;
    same("what was counted", &chat.map(|chat| chat.metadata), &Some(add))
}

async fn keys_belong_to_a_chat(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let other = fixture.other("ada", "other");
    other.create().await?;
    for (fixture, id) in [(&fixture, "a"), (&other, "b")] {
        let mut commit = fixture.extend("", [id]);
        commit.key = Some("k".into());
        fixture.applied(commit).await?;
    }
    Ok(())
}

async fn repeated_extend_is_replayed(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a"])).await?;
    let commit = fixture.extend("a", ["b", "c"]);
    fixture.applied(commit.clone()).await?;
    let before = VisibleChat::of(&fixture).await?;
    let outcome = fixture.commit(commit.clone()).await?;
    same("the same messages again", &outcome, &CommitOutcome::Replayed(on("main", "c")))?;
    same("the chat afterwards", &VisibleChat::of(&fixture).await?, &before)?;
    fixture.applied(fixture.extend("c", ["d"])).await?;
    let outcome = fixture.commit(Commit { at: fixture.at(), ..commit }).await?;
    same("once more, after a later commit", &outcome, &CommitOutcome::Replayed(on("main", "c")))?;
    let outcome = fixture.commit(fixture.extend("", ["a"])).await?;
    same("the first message again", &outcome, &CommitOutcome::Replayed(on("main", "a")))?;
    fixture.expect_chain("main", &["a", "b", "c", "d"]).await
}

async fn stored_otherwise_exists(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a", "b", "c"])).await?;
    let before = VisibleChat::of(&fixture).await?;
    let exists =
        |ids: &[&str]| CommitOutcome::Exists { ids: ids.iter().copied().map(Into::into).collect() };
    let other =
        |expected: &str| Commit { nodes: vec![says("c", "else")], ..fixture.extend(expected, []) };
    let tries = [
        ("a stored and a new one", fixture.extend("a", ["b", "x"]), exists(&["b"])),
        ("a new and a stored one", fixture.extend("c", ["x", "b"]), exists(&["b"])),
        ("other content", other("b"), exists(&["c"])),
        ("other content at the head", other("c"), exists(&["c"])),
        ("another order", fixture.extend("a", ["c", "b"]), exists(&["c", "b"])),
        ("another parent", fixture.extend("a", ["c"]), exists(&["c"])),
        ("no parent", fixture.extend("", ["b"]), exists(&["b"])),
        ("a gap", fixture.extend("", ["a", "c"]), exists(&["a", "c"])),
    ];
    for (label, commit, expected) in tries {
        same(
            format!("messages that are stored otherwise: {label}"),
            &fixture.commit(commit).await?,
            &expected,
        )?;
        same(format!("the chat after {label}"), &VisibleChat::of(&fixture).await?, &before)?;
    }
    Ok(())
}

async fn replay_needs_the_branch(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a"])).await?;
    fixture.applied(fixture.fork("side", "a", ["b"])).await?;
    let outcome = fixture.commit(fixture.extend("a", ["b"])).await?;
    let expected = CommitOutcome::Exists { ids: vec!["b".into()] };
    same("a message that only another branch has", &outcome, &expected)?;
    fixture.expect_chain("main", &["a"]).await
}

async fn ids_belong_to_a_chat(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let other = fixture.other("ada", "other");
    other.create().await?;
    fixture.applied(fixture.extend("", ["a", "b"])).await?;
    other.applied(other.extend("", ["b", "a"])).await?;
    fixture.expect_chain("main", &["a", "b"]).await?;
    other.expect_chain("main", &["b", "a"]).await
}

async fn absent_branch_or_chat_is_not_found(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a"])).await?;
    for expected in ["", "a"] {
        let result = fixture.history().commit(fixture.extend_on("ghost", expected, ["x"])).await;
        refused("a commit to an absent branch", result, ErrorKind::NotFound)?;
    }
    let absent = fixture.other("ada", "absent");
    let result = fixture.history().commit(absent.extend("", ["x"])).await;
    refused("a commit to an absent chat", result, ErrorKind::NotFound)?;
    same("and it was not created", &fixture.history().chat(&absent.chat).await?, &None)
}

async fn messages_need_a_branch(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let commit = Commit {
        nodes: vec![message("a")],
        ..Commit::new(fixture.chat.clone(), Target::Stay, fixture.at())
    };
    refused(
        "messages with Target::Stay",
        fixture.history().commit(commit).await,
        ErrorKind::Invalid,
    )?;
    fixture.expect_chain("main", &[]).await
}

async fn same_id_twice_is_refused(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let result = fixture.history().commit(fixture.extend("", ["a", "b", "a"])).await;
    refused("one id twice in a commit", result, ErrorKind::Invalid)?;
    let commit = Commit { amendments: vec![message("a")], ..fixture.extend("", ["a"]) };
    refused(
        "a new message that is amended at once",
        fixture.history().commit(commit).await,
        ErrorKind::Invalid,
    )?;
    fixture.expect_chain("main", &[]).await
}
