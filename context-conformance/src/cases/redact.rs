//! Cases about redactions: a stored message gets a new body, keeps its place, and nothing of its
//! old body is kept.

use std::sync::Arc;

use context_core::base::limits::{MAX_BODY_BYTES, MAX_COMMIT_ITEMS};
use context_core::message::NodeKind;
use context_core::store::{ChatPatch, Commit, CommitOutcome, Committed, Window};
use context_core::{Encoded, ErrorKind, Message, MessageId, Metadata, Node, Role, Timestamp};

use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::{ChatFixture, id, message, raw, says, stored};
use crate::expect::{ensure, refused, same};
use crate::verdict::Check;
use crate::visible_chat::{VisibleChat, all_messages};

cases!("redact":
    body_and_revisions_are_gone,
    place_and_all_around_it_stay,
    every_reader_finds_out,
    any_message_of_a_long_chain,
    together_with_what_replaces_it,
    a_key_counts_once,
    unknown_message_is_not_found,
    what_is_wrong_is_refused,
    on_all_branches_and_checkpoints,
    again_and_amended_after,
    boundaries_too,
    gone_after_opening_again if Durable,
);

const SECRET: &str = "hunter2 is the word that must go";

pub(super) fn redact(fixture: &ChatFixture, ids: &[&str]) -> Commit {
    Commit { redactions: ids.iter().map(|id| says(id, "[redacted]")).collect(), ..fixture.stay() }
}

/// Creates a chat with a secret in one message of `main` and in two earlier revisions of it.
async fn with_secret(fixture: &ChatFixture) -> Check {
    let nodes = vec![message("a"), says("b", SECRET), message("c")];
    fixture.applied(Commit { nodes, ..fixture.extend("", []) }).await?;
    fixture.applied(fixture.fork("side", "b", ["x"])).await?;
    for i in 0..2 {
        let by = says("b", &format!("{SECRET} {i}"));
        fixture.applied(Commit { amendments: vec![by], ..fixture.stay() }).await?;
    }
    Ok(())
}

/// Expects that nothing readable of the chat holds the secret.
async fn without_secret(fixture: &ChatFixture, did: &str) -> Check {
    let has = |node: &Node| node.body().bytes().windows(7).any(|bytes| bytes == b"hunter2");
    for placed in all_messages(fixture, 100).await? {
        let id = &placed.node.id;
        ensure(!has(&placed.node), || format!("{did}: {id} still has its old body"))?;
        let revisions = fixture.history().revisions(&fixture.chat, id).await?;
        ensure(!revisions.iter().any(|was| has(&was.node)), || {
            format!("{did}: {id} has a revision with it")
        })?;
        let to_it = fixture.read_to(id.as_str(), Window::Whole).await?;
        ensure(!to_it.iter().any(|node| has(node)), || format!("{did}: the chain to {id} has it"))?;
    }
    for branch in fixture.history().branches(&fixture.chat).await? {
        let chain = fixture.whole(branch.name.as_str()).await?;
        ensure(!chain.iter().any(|node| has(node)), || {
            format!("{did}: branch {} has it", branch.name)
        })?;
    }
    Ok(())
}

/// Checks that a boundary that holds text of a message is redacted with it in one commit, and stays
/// in place.
async fn boundaries_too(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let cut = |text: &str| {
        let body = Encoded::new("boundary", 1, text.as_bytes().to_vec());
        Arc::new(Node::from_encoded(
            "cut".into(),
            NodeKind::Boundary,
            Timestamp::from_micros(7),
            body,
        ))
    };
    let nodes = vec![says("a", SECRET), cut(SECRET), message("b")];
    fixture.applied(Commit { nodes, ..fixture.extend("", []) }).await?;
    let redactions = vec![says("a", "[redacted]"), cut("{}")];
    fixture.applied(Commit { redactions, ..fixture.stay() }).await?;
    without_secret(&fixture, "after the redaction").await?;
    let seen = fixture.read("main", Window::Boundary).await?;
    let first = seen.get(0).map(|node| (node.id.clone(), node.kind));
    same(
        "the first node of a read to the last cut",
        &first,
        &Some(("cut".into(), NodeKind::Boundary)),
    )?;
    same("how many nodes it has", &seen.len(), &2)
}

async fn body_and_revisions_are_gone(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    with_secret(&fixture).await?;
    fixture.applied(redact(&fixture, &["b"])).await?;
    without_secret(&fixture, "after redacting").await?;
    let revisions = fixture.history().revisions(&fixture.chat, &"b".into()).await?;
    same("the revisions of a redacted message", &revisions, &Vec::new())
}

async fn place_and_all_around_it_stay(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    with_secret(&fixture).await?;
    fixture
        .history()
        .set_checkpoint(&fixture.chat, &"cp".into(), &"b".into(), fixture.at())
        .await?;
    let before = VisibleChat::of(&fixture).await?;
    let node = before
        .iter()
        .flat_map(|seen| &seen.messages)
        .find(|placed| placed.node.id.as_str() == "b")
        .cloned();
    let by = Node::new("b", Message::new(Role::Assistant, []), Timestamp::from_micros(99))
        .with_tokens(3);
    let commit = Commit { redactions: vec![Arc::new(by.clone())], ..fixture.stay() };
    let at = commit.at;
    same("the outcome", &fixture.applied(commit).await?, &Committed::new(None, None))?;
    let after = VisibleChat::of(&fixture).await?;
    let seen = after
        .iter()
        .flat_map(|seen| &seen.messages)
        .find(|placed| placed.node.id.as_str() == "b")
        .cloned();
    let mut expected = node.clone();
    if let Some(placed) = &mut expected {
        placed.node = Arc::new(placed.node.amended(&by));
    }
    same("the message, with its id, parent, depth, time and revision", &seen, &expected)?;
    let kind = seen.map(|placed| (placed.node.kind, placed.node.tokens));
    same("kind and tokens", &kind, &Some((NodeKind::Message(Role::Assistant), Some(3))))?;
    let around = |seen: Option<VisibleChat>| {
        seen.map(|seen| {
            let others: Vec<_> =
                seen.messages.into_iter().filter(|placed| placed.node.id.as_str() != "b").collect();
            (seen.branches, seen.checkpoints, seen.fragments, others, seen.summary.messages)
        })
    };
    same("branches, checkpoints and other messages", &around(after.clone()), &around(before))?;
    let updated = after.map(|seen| seen.summary.chat.updated_at);
    same("when the chat was written to", &updated, &Some(at))
}

async fn every_reader_finds_out(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    with_secret(&fixture).await?;
    let generation = fixture.whole("main").await?.generation();
    let after = |message: &str| Window::After { message: message.into(), generation };
    let seen = fixture.read("main", after("c")).await?;
    same("before: what is new behind the head", &(seen.skipped(), seen.len()), &(3, 0))?;
    fixture.applied(redact(&fixture, &["b"])).await?;
    for (branch, message) in [("main", "c"), ("side", "x")] {
        let seen = fixture.read(branch, after(message)).await?;
        same(format!("after: {branch} is read again"), &(seen.skipped(), seen.len()), &(0, 3))?;
        same("its generation", &seen.generation(), &(generation + 1))?;
    }
    Ok(())
}

async fn any_message_of_a_long_chain(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let all = fixture.fill(300, 30).await?;
    let mut expected: Vec<_> = all.iter().map(|id| message(id)).collect();
    for at in [0, 1, 15, 16, 63, 64, 255, 256, 257, 298, 299] {
        let by = says(&all[at], &"[redacted] ".repeat(at % 20));
        fixture.applied(Commit { redactions: vec![Arc::clone(&by)], ..fixture.stay() }).await?;
        expected[at] = Arc::new(expected[at].amended(&by));
    }
    let chain: Vec<_> = fixture.whole("main").await?.iter().cloned().collect();
    same("how many there are", &chain.len(), &300)?;
    for (i, (seen, expected)) in chain.iter().zip(&expected).enumerate() {
        same(format!("message {i} of 300 after 11 were redacted"), seen, expected)?;
    }
    Ok(())
}

async fn together_with_what_replaces_it(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    with_secret(&fixture).await?;
    let mut commit = fixture.extend("c", ["d"]);
    commit.redactions = vec![says("b", "[redacted]")];
    commit.amendments = vec![says("a", "new words")];
    commit.fragments = vec![stored("f", "x")];
    commit.patch =
        Some(ChatPatch { set: Metadata::default().with("n", 1), ..ChatPatch::default() });
    let stale = Commit { nodes: vec![message("e")], ..fixture.extend("a", []) };
    let before = VisibleChat::of(&fixture).await?;
    let refused = Commit { redactions: commit.redactions.clone(), ..stale };
    same(
        "a stale one",
        &fixture.commit(refused).await?,
        &CommitOutcome::Conflict { actual: id("c") },
    )?;
    same("the chat after a conflict", &VisibleChat::of(&fixture).await?, &before)?;
    let generation = fixture.whole("main").await?.generation();
    let committed = fixture.applied(commit).await?;
    same("where the branch is", &committed, &Committed::new(Some("main".into()), id("d")))?;
    fixture.expect_chain("main", &["a", "b", "c", "d"]).await?;
    without_secret(&fixture, "after one commit of everything").await?;
    let kept = fixture.history().revisions(&fixture.chat, &"a".into()).await?.len();
    same("revisions of the amended one", &kept, &1)?;
    same("the generation", &fixture.whole("main").await?.generation(), &(generation + 1))?;
    same(
        "the fragments",
        &fixture.fragments().fragments(&fixture.chat).await?,
        &vec![stored("f", "x")],
    )
}

async fn a_key_counts_once(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    with_secret(&fixture).await?;
    let keyed = Commit { key: Some("k".into()), ..redact(&fixture, &["b"]) };
    fixture.applied(keyed.clone()).await?;
    let before = VisibleChat::of(&fixture).await?;
    let again = Commit { at: fixture.at(), ..keyed.clone() };
    same(
        "again",
        &fixture.commit(again).await?,
        &CommitOutcome::Replayed(Committed::new(None, None)),
    )?;
    same("the chat after a replay", &VisibleChat::of(&fixture).await?, &before)?;
    let amends = Commit { amendments: keyed.redactions.clone(), redactions: Vec::new(), ..keyed };
    refused(
        "an amendment with this key",
        fixture.history().commit(amends).await,
        ErrorKind::Invalid,
    )
    .map(drop)
}

async fn unknown_message_is_not_found(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    with_secret(&fixture).await?;
    let before = VisibleChat::of(&fixture).await?;
    for commit in [
        redact(&fixture, &["b", "ghost"]),
        Commit {
            nodes: vec![message("d")],
            target: fixture.extend("c", []).target,
            ..redact(&fixture, &["ghost"])
        },
    ] {
        refused(
            "redacting an unknown message",
            fixture.history().commit(commit).await,
            ErrorKind::NotFound,
        )?;
        same("the chat then", &VisibleChat::of(&fixture).await?, &before)?;
    }
    let other = fixture.other("ada", "other");
    other.create().await?;
    let result = fixture.history().commit(redact(&other, &["b"])).await;
    refused("redacting another chat's message", result, ErrorKind::NotFound).map(drop)
}

async fn what_is_wrong_is_refused(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    with_secret(&fixture).await?;
    let before = VisibleChat::of(&fixture).await?;
    let twice = redact(&fixture, &["b", "b"]);
    let both = Commit { amendments: vec![message("b")], ..redact(&fixture, &["b"]) };
    let new = Commit {
        nodes: vec![message("d")],
        target: fixture.extend("c", []).target,
        ..redact(&fixture, &["d"])
    };
    let large =
        Commit { redactions: vec![raw("b", vec![0; MAX_BODY_BYTES + 1])], ..fixture.stay() };
    let many = (0..=MAX_COMMIT_ITEMS).map(|i| message(&format!("i{i}"))).collect();
    let many = Commit { redactions: many, ..fixture.stay() };
    let tries = [
        ("the same message twice", twice, None),
        ("one that is amended too", both, None),
        ("one that is new", new, None),
        ("a large body", large, Some(MAX_BODY_BYTES)),
        ("too many", many, Some(MAX_COMMIT_ITEMS)),
    ];
    for (label, commit, limit) in tries {
        let error = refused(
            format!("redacting {label}"),
            fixture.history().commit(commit).await,
            ErrorKind::Invalid,
        )?;
        let named = error.get("limit").map(ToOwned::to_owned);
        same(
            format!("{label}: the limit in {error}"),
            &named,
            &limit.map(|limit| limit.to_string()),
        )?;
        same("the chat then", &VisibleChat::of(&fixture).await?, &before)?;
    }
    Ok(())
}

async fn on_all_branches_and_checkpoints(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.fill(40, 1).await?;
    fixture.applied(fixture.fork("side", "m30", ["x"])).await?;
    fixture
        .history()
        .set_checkpoint(&fixture.chat, &"cp".into(), &"m6".into(), fixture.at())
        .await?;
    fixture.applied(redact(&fixture, &["m5", "x", "m39"])).await?;
    let expected = Some((says("m5", "[redacted]").body().clone(), 1));
    for chain in [
        fixture.whole("main").await?,
        fixture.whole("side").await?,
        fixture.read_to("m6", Window::Whole).await?,
    ] {
        same(
            "message 5",
            &chain.get(5).map(|node| (node.body().clone(), node.revision)),
            &expected,
        )?;
    }
    let last = async |branch: &str| {
        Check::Ok(fixture.whole(branch).await?.last().map(|node| node.revision))
    };
    same("the heads", &(last("main").await?, last("side").await?), &(Some(1), Some(1)))
}

async fn again_and_amended_after(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    with_secret(&fixture).await?;
    fixture.applied(redact(&fixture, &["b"])).await?;
    fixture.applied(redact(&fixture, &["b"])).await?;
    let revisions = async || -> Check<Vec<String>> {
        let all = fixture.history().revisions(&fixture.chat, &MessageId::from("b")).await?;
        Ok(all
            .iter()
            .map(|was| format!("{}: {:?}", was.node.revision, was.node.body().bytes()))
            .collect())
    };
    same("revisions after redacting twice", &revisions().await?, &Vec::new())?;
    fixture.applied(Commit { amendments: vec![says("b", "now this")], ..fixture.stay() }).await?;
    let was = format!("4: {:?}", says("b", "[redacted]").body().bytes());
    same("revisions after an amendment", &revisions().await?, &vec![was])?;
    fixture.applied(redact(&fixture, &["b"])).await?;
    same("and after another redaction", &revisions().await?, &Vec::new())
}

async fn gone_after_opening_again(case: &CaseContext) -> Check {
    let fixture = case.fixture_in("redact").await?;
    with_secret(&fixture).await?;
    fixture.applied(redact(&fixture, &["b"])).await?;
    let before = VisibleChat::of(&fixture).await?;
    drop(fixture);
    let fixture = ChatFixture::new(case.reopen("redact").await?, "ada", "chat");
    same("a chat after the store was opened again", &VisibleChat::of(&fixture).await?, &before)?;
    without_secret(&fixture, "after opening again").await
}
