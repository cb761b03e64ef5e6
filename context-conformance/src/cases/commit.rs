//! Cases about commits: their effect, their refusal, and replays.

use context_core::store::{ChatPatch, Commit, CommitOutcome, Committed, Target};
use context_core::{ErrorKind, Metadata};
use serde_json::json;

use crate::case::cases;
use crate::checked::Checked;
use crate::desk::{Desk, id, message, says, stored};
use crate::expect::{refused, same};
use crate::lab::Lab;
use crate::visible::Visible;

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

async fn first_and_next(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    same(
        "the first commit",
        &desk.commit(desk.extend("", ["a"])).await?,
        &CommitOutcome::Applied(on("main", "a")),
    )?;
    let outcome = desk.commit(desk.extend("a", ["b", "c"])).await?;
    same("the next commit", &outcome, &CommitOutcome::Applied(on("main", "c")))?;
    desk.expect_chain("main", &["a", "b", "c"]).await?;
    let branch = desk.branch("main").await?;
    same("head and length of main", &branch.map(|b| (b.head, b.length)), &Some((id("c"), 3)))
}

async fn one_and_a_thousand_messages(lab: &Lab) -> Checked {
    for (count, per_commit) in [(1, 1), (1000, 1000), (1500, 700)] {
        let desk = lab.desk().await?;
        let expected = desk.fill(count, per_commit).await?;
        let seen = crate::desk::ids(&desk.whole("main").await?);
        same(format!("{count} messages in commits of {per_commit}"), &seen, &expected)?;
    }
    Ok(())
}

async fn stale_head_is_a_conflict(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    let conflict = |head: &str| CommitOutcome::Conflict { actual: id(head) };
    let outcome = desk.commit(desk.extend("ghost", ["x"])).await?;
    same("a commit behind a message that is nowhere, on an empty branch", &outcome, &conflict(""))?;
    desk.applied(desk.extend("", ["a", "b"])).await?;
    for expected in ["", "a", "ghost"] {
        let outcome = desk.commit(desk.extend(expected, ["x"])).await?;
        same(
            format!("a commit that expects head {expected:?} of a branch at \"b\""),
            &outcome,
            &conflict("b"),
        )?;
    }
    desk.expect_chain("main", &["a", "b"]).await?;
    same(
        "the refused message",
        &desk.history().messages(&desk.chat, &["x".into()]).await?,
        &vec![None],
    )
}

async fn without_messages_only_checks(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    let outcome = desk.commit(desk.extend("", [])).await?;
    same("no messages on an empty branch", &outcome, &CommitOutcome::Applied(on("main", "")))?;
    desk.applied(desk.extend("", ["a"])).await?;
    let mut check = desk.extend("a", []);
    check.fragments = vec![stored("f", "x")];
    same(
        "no messages, right head",
        &desk.commit(check).await?,
        &CommitOutcome::Applied(on("main", "a")),
    )?;
    let mut check = desk.extend("", []);
    check.fragments = vec![stored("g", "x")];
    let conflict = CommitOutcome::Conflict { actual: id("a") };
    same("no messages, wrong head", &desk.commit(check).await?, &conflict)?;
    let fragments = desk.fragments().fragments(&desk.chat).await?;
    same("the fragments of the two", &fragments, &vec![stored("f", "x")])
}

/// Extends a commit by every other kind of content.
fn everything(desk: &Desk, mut commit: Commit) -> Commit {
    commit.amendments = vec![says("a", "amended")];
    commit.fragments = vec![stored("f", "new"), stored("g", "new")];
    commit.patch = Some(ChatPatch {
        title: Some(Some("new".into())),
        add: Metadata::default().with("n", 1),
        ..ChatPatch::default()
    });
    commit.at = desk.at();
    commit
}

async fn refused_leaves_nothing(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    desk.applied(desk.extend("", ["a", "b"])).await?;
    desk.applied(desk.fork("taken", "a", [])).await?;
    desk.fragments().put_fragments(&desk.chat, &[stored("f", "old")], desk.at()).await?;
    let before = Visible::of(&desk).await?;
    let unknown_amendment = |mut commit: Commit| {
        commit.amendments.push(message("ghost"));
        commit
    };
    let refused = [
        everything(&desk, desk.extend("a", ["x"])),
        everything(&desk, desk.extend("b", ["x", "b"])),
        everything(&desk, desk.fork("taken", "a", ["x"])),
        everything(&desk, desk.fork("new", "ghost", ["x"])),
        everything(&desk, desk.extend_on("ghost", "b", ["x"])),
        everything(&desk, Commit { nodes: vec![message("x")], ..desk.stay() }),
        unknown_amendment(everything(&desk, desk.extend("b", ["x"]))),
        unknown_amendment(everything(&desk, desk.fork("new", "a", ["x"]))),
    ];
    for mut commit in refused {
        commit.key = Some("refused".into());
        let did = format!("{:?} with {:?}", commit.target, commit.nodes);
        if let Ok(CommitOutcome::Applied(_) | CommitOutcome::Replayed(_)) =
            desk.history().commit(commit).await
        {
            return crate::expect::fail(format!("{did}: expected a refusal, saw it accepted"));
        }
        same(
            format!("the chat after a refused commit: {did}"),
            &Visible::of(&desk).await?,
            &before,
        )?;
    }
    let mut commit = desk.extend("b", ["x"]);
    commit.key = Some("refused".into());
    desk.applied(commit).await.map(drop)
}

async fn all_parts_are_written(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    desk.applied(desk.extend("", ["a"])).await?;
    let commit = everything(&desk, desk.extend("a", ["b"]));
    let at = commit.at;
    desk.applied(commit).await?;
    let chain = desk.whole("main").await?;
    let texts: Vec<_> = chain.iter().map(|node| node.body().clone()).collect();
    let expected = vec![says("a", "amended").body().clone(), message("b").body().clone()];
    same("the bodies after a commit of everything", &texts, &expected)?;
    let fragments = desk.fragments().fragments(&desk.chat).await?;
    same("its fragments", &fragments, &vec![stored("f", "new"), stored("g", "new")])?;
    let chat = desk.history().chat(&desk.chat).await?;
    let seen = chat.map(|chat| (chat.title, chat.metadata, chat.updated_at));
    same(
        "title, metadata, time",
        &seen,
        &Some((Some("new".into()), Metadata::default().with("n", 1), at)),
    )
}

async fn same_key_is_replayed(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    let mut keyed = everything(&desk, desk.extend("", ["b", "c"]));
    keyed.amendments.clear();
    keyed.key = Some("k".into());
    desk.applied(keyed.clone()).await?;
    let before = Visible::of(&desk).await?;
    for later in ["", "d"] {
        if !later.is_empty() {
            desk.applied(desk.extend("c", [later])).await?;
        }
        let again = Commit { at: desk.at(), ..keyed.clone() };
        let outcome = desk.commit(again).await?;
        same(
            "the same commit with the same key again",
            &outcome,
            &CommitOutcome::Replayed(on("main", "c")),
        )?;
        if later.is_empty() {
            same("the chat afterwards", &Visible::of(&desk).await?, &before)?;
        }
    }
    desk.expect_chain("main", &["b", "c", "d"]).await?;
    // A replayed fork with an exact name can be recognized only by its key.
    let mut fork = desk.next_version("main", "b");
    fork.key = Some("fork".into());
    desk.applied(fork.clone()).await?;
    let outcome = desk.commit(fork).await?;
    same("a fork with the same key again", &outcome, &CommitOutcome::Replayed(on("main-v2", "b")))?;
    same("how many branches", &desk.heads().await?.len(), &2)
}

async fn same_key_other_content_is_refused(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    let keyed = |mut commit: Commit| {
        commit.key = Some("k".into());
        commit
    };
    desk.applied(keyed(desk.extend("", ["a"]))).await?;
    let before = Visible::of(&desk).await?;
    let others = [
        keyed(desk.extend("a", ["b"])),
        keyed(Commit { nodes: vec![says("a", "something else")], ..desk.extend("", []) }),
        keyed(desk.extend("", ["a", "b"])),
        keyed(Commit { fragments: vec![stored("f", "x")], ..desk.extend("", ["a"]) }),
        keyed(desk.stay()),
        keyed(desk.fork("side", "", ["a"])),
    ];
    for other in others {
        let did = format!("the same key with {:?}, {:?}", other.target, other.nodes);
        refused(did, desk.history().commit(other).await, ErrorKind::Invalid)?;
    }
    same("the chat afterwards", &Visible::of(&desk).await?, &before)
}

async fn key_counts_once(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    let add = Metadata::default().with("usage", json!({"in": 10}));
    let patch = Some(ChatPatch { add: add.clone(), ..ChatPatch::default() });
    let commit = Commit { key: Some("turn-1".into()), patch, ..desk.stay() };
    let stayed = Committed::new(None, None);
    same("counting", &desk.commit(commit.clone()).await?, &CommitOutcome::Applied(stayed.clone()))?;
    same("counting again", &desk.commit(commit).await?, &CommitOutcome::Replayed(stayed))?;
    let chat = desk.history().chat(&desk.chat).await?;
    same("what was counted", &chat.map(|chat| chat.metadata), &Some(add))
}

async fn keys_belong_to_a_chat(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    let other = desk.other("ada", "other");
    other.create().await?;
    for (desk, id) in [(&desk, "a"), (&other, "b")] {
        let mut commit = desk.extend("", [id]);
        commit.key = Some("k".into());
        desk.applied(commit).await?;
    }
    Ok(())
}

async fn repeated_extend_is_replayed(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    desk.applied(desk.extend("", ["a"])).await?;
    let commit = desk.extend("a", ["b", "c"]);
    desk.applied(commit.clone()).await?;
    let before = Visible::of(&desk).await?;
    let outcome = desk.commit(commit.clone()).await?;
    same("the same messages again", &outcome, &CommitOutcome::Replayed(on("main", "c")))?;
    same("the chat afterwards", &Visible::of(&desk).await?, &before)?;
    desk.applied(desk.extend("c", ["d"])).await?;
    let outcome = desk.commit(Commit { at: desk.at(), ..commit }).await?;
    same("once more, after a later commit", &outcome, &CommitOutcome::Replayed(on("main", "c")))?;
    let outcome = desk.commit(desk.extend("", ["a"])).await?;
    same("the first message again", &outcome, &CommitOutcome::Replayed(on("main", "a")))?;
    desk.expect_chain("main", &["a", "b", "c", "d"]).await
}

async fn stored_otherwise_exists(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    desk.applied(desk.extend("", ["a", "b", "c"])).await?;
    let before = Visible::of(&desk).await?;
    let exists =
        |ids: &[&str]| CommitOutcome::Exists { ids: ids.iter().copied().map(Into::into).collect() };
    let other =
        |expected: &str| Commit { nodes: vec![says("c", "else")], ..desk.extend(expected, []) };
    let tries = [
        ("a stored and a new one", desk.extend("a", ["b", "x"]), exists(&["b"])),
        ("a new and a stored one", desk.extend("c", ["x", "b"]), exists(&["b"])),
        ("other content", other("b"), exists(&["c"])),
        ("other content at the head", other("c"), exists(&["c"])),
        ("another order", desk.extend("a", ["c", "b"]), exists(&["c", "b"])),
        ("another parent", desk.extend("a", ["c"]), exists(&["c"])),
        ("no parent", desk.extend("", ["b"]), exists(&["b"])),
        ("a gap", desk.extend("", ["a", "c"]), exists(&["a", "c"])),
    ];
    for (what, commit, expected) in tries {
        same(
            format!("messages that are stored otherwise: {what}"),
            &desk.commit(commit).await?,
            &expected,
        )?;
        same(format!("the chat after {what}"), &Visible::of(&desk).await?, &before)?;
    }
    Ok(())
}

async fn replay_needs_the_branch(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    desk.applied(desk.extend("", ["a"])).await?;
    desk.applied(desk.fork("side", "a", ["b"])).await?;
    let outcome = desk.commit(desk.extend("a", ["b"])).await?;
    let expected = CommitOutcome::Exists { ids: vec!["b".into()] };
    same("a message that only another branch has", &outcome, &expected)?;
    desk.expect_chain("main", &["a"]).await
}

async fn ids_belong_to_a_chat(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    let other = desk.other("ada", "other");
    other.create().await?;
    desk.applied(desk.extend("", ["a", "b"])).await?;
    other.applied(other.extend("", ["b", "a"])).await?;
    desk.expect_chain("main", &["a", "b"]).await?;
    other.expect_chain("main", &["b", "a"]).await
}

async fn absent_branch_or_chat_is_not_found(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    desk.applied(desk.extend("", ["a"])).await?;
    for expected in ["", "a"] {
        let result = desk.history().commit(desk.extend_on("ghost", expected, ["x"])).await;
        refused("a commit to an absent branch", result, ErrorKind::NotFound)?;
    }
    let absent = desk.other("ada", "absent");
    let result = desk.history().commit(absent.extend("", ["x"])).await;
    refused("a commit to an absent chat", result, ErrorKind::NotFound)?;
    same("and it was not created", &desk.history().chat(&absent.chat).await?, &None)
}

async fn messages_need_a_branch(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    let commit = Commit {
        nodes: vec![message("a")],
        ..Commit::new(desk.chat.clone(), Target::Stay, desk.at())
    };
    refused("messages with Target::Stay", desk.history().commit(commit).await, ErrorKind::Invalid)?;
    desk.expect_chain("main", &[]).await
}

async fn same_id_twice_is_refused(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    let result = desk.history().commit(desk.extend("", ["a", "b", "a"])).await;
    refused("one id twice in a commit", result, ErrorKind::Invalid)?;
    let commit = Commit { amendments: vec![message("a")], ..desk.extend("", ["a"]) };
    refused(
        "a new message that is amended at once",
        desk.history().commit(commit).await,
        ErrorKind::Invalid,
    )?;
    desk.expect_chain("main", &[]).await
}
