//! Cases about amendments: a stored message gets a new body, keeps its place, and keeps its old
//! body as a revision.

use std::sync::Arc;

use context_core::message::NodeKind;
use context_core::store::{Commit, Revision};
use context_core::{ErrorKind, Message, MessageId, Node, Role, Timestamp};

use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::{ChatFixture, id, message, says};
use crate::expect::{refused, same};
use crate::verdict::Check;

cases!("amend":
    keeps_id_place_and_time,
    head_stays,
    revisions_are_kept_in_order,
    shared_messages_change_on_all_branches,
    any_message_of_a_long_chain,
    another_role,
    shorter_longer_and_empty_bodies,
    unknown_message_is_not_found,
    a_new_message_may_follow_in_the_same_commit,
);

fn amend(fixture: &ChatFixture, by: Arc<Node>) -> Commit {
    Commit { amendments: vec![by], ..fixture.stay() }
}

async fn one(fixture: &ChatFixture, id: &str) -> Check<Option<Node>> {
    let slots = fixture.history().messages(&fixture.chat, &[MessageId::from(id)]).await?;
    Ok(slots.into_iter().flatten().next().map(|placed| (*placed.node).clone()))
}

async fn keeps_id_place_and_time(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a", "b", "c"])).await?;
    let text = Message::text(Role::User, "other words");
    let by = Node::new("b", text, Timestamp::from_micros(99)).with_tokens(4);
    fixture.applied(amend(&fixture, Arc::new(by.clone()))).await?;
    let expected = message("b").amended(&by);
    same("the amended message", &one(&fixture, "b").await?, &Some(expected.clone()))?;
    let chain: Vec<_> = fixture.whole("main").await?.iter().cloned().collect();
    same("the chain", &chain, &vec![message("a"), Arc::new(expected), message("c")])
}

async fn head_stays(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a", "b", "c"])).await?;
    fixture.applied(amend(&fixture, says("a", "new"))).await?;
    fixture.expect_chain("main", &["a", "b", "c"]).await?;
    same("the heads", &fixture.heads().await?, &vec![("main".into(), id("c"))])?;
    let mut both = fixture.extend("c", []);
    both.amendments = vec![says("b", "new")];
    let committed = fixture.applied(both).await?;
    same("the head a commit of amendments reports", &committed.head, &id("c"))?;
    fixture.applied(fixture.extend("c", ["d"])).await?;
    fixture.expect_chain("main", &["a", "b", "c", "d"]).await
}

async fn revisions_are_kept_in_order(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a", "b"])).await?;
    let mut now = (*message("a")).clone();
    let mut expected = Vec::new();
    for i in 1..=4 {
        let commit = amend(&fixture, says("a", &format!("version {i}")));
        expected.push(Revision::new(now.clone(), commit.at));
        now = now.amended(&commit.amendments[0]);
        fixture.applied(commit).await?;
        same(
            format!("the message after {i} amendments"),
            &one(&fixture, "a").await?,
            &Some(now.clone()),
        )?;
        let revisions = fixture.history().revisions(&fixture.chat, &"a".into()).await?;
        same(format!("its revisions after {i} amendments"), &revisions, &expected)?;
    }
    let revisions = fixture.history().revisions(&fixture.chat, &"b".into()).await?;
    same("the revisions of the other message", &revisions, &Vec::new())
}

async fn shared_messages_change_on_all_branches(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.fill(40, 1).await?;
    fixture.applied(fixture.fork("side", "m30", ["x"])).await?;
    fixture.applied(amend(&fixture, says("m5", "new"))).await?;
    for branch in ["main", "side"] {
        let node =
            fixture.whole(branch).await?.get(5).map(|node| (node.body().clone(), node.revision));
        same(
            format!("message 5 on {branch}"),
            &node,
            &Some((says("m5", "new").body().clone(), 1)),
        )?;
    }
    fixture.applied(amend(&fixture, says("x", "new"))).await?;
    let fork = fixture.whole("side").await?;
    same("the fork's own message", &fork.last().map(|node| node.revision), &Some(1))
}

async fn any_message_of_a_long_chain(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let all = fixture.fill(600, 30).await?;
    let mut expected: Vec<_> = all.iter().map(|id| message(id)).collect();
    for at in [0, 1, 15, 16, 255, 256, 257, 300, 511, 512, 598, 599] {
        let by = says(&all[at], &"longer than before, ".repeat(at % 20));
        fixture.applied(amend(&fixture, Arc::clone(&by))).await?;
        expected[at] = Arc::new(expected[at].amended(&by));
    }
    let chain: Vec<_> = fixture.whole("main").await?.iter().cloned().collect();
    for (i, (seen, expected)) in chain.iter().zip(&expected).enumerate() {
        same(format!("message {i} of 600 after 12 were amended"), seen, expected)?;
    }
    same("how many there are", &chain.len(), &600)
}

async fn another_role(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a"])).await?;
    let by = Node::new("a", Message::text(Role::Assistant, "now it speaks"), Timestamp::default());
    fixture.applied(amend(&fixture, Arc::new(by))).await?;
    let kind = one(&fixture, "a").await?.map(|node| node.kind);
    same("the kind", &kind, &Some(NodeKind::Message(Role::Assistant)))?;
    let was = fixture.history().revisions(&fixture.chat, &"a".into()).await?;
    let was: Vec<_> = was.iter().map(|revision| revision.node.kind).collect();
    same("the kind it had", &was, &vec![NodeKind::Message(Role::User)])
}

async fn shorter_longer_and_empty_bodies(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a", "b", "c"])).await?;
    for size in [0, 1, 70_000, 3, 300_000, 0] {
        let by = crate::chat_fixture::raw("b", vec![0xa5; size]);
        fixture.applied(amend(&fixture, Arc::clone(&by))).await?;
        let body = one(&fixture, "b").await?.map(|node| node.body().clone());
        same(format!("a body of {size} bytes"), &body, &Some(by.body().clone()))?;
        fixture.expect_chain("main", &["a", "b", "c"]).await?;
    }
    let was = fixture.history().revisions(&fixture.chat, &"b".into()).await?;
    let sizes: Vec<_> = was.iter().map(|revision| revision.node.body().bytes().len()).collect();
    same(
        "the sizes it had",
        &sizes,
        &vec![message("b").body().bytes().len(), 0, 1, 70_000, 3, 300_000],
    )
}

async fn unknown_message_is_not_found(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a"])).await?;
    let mut commit = amend(&fixture, says("a", "new"));
    commit.amendments.push(message("ghost"));
    refused(
        "amending an unknown message",
        fixture.history().commit(commit).await,
        ErrorKind::NotFound,
    )?;
    let revision = one(&fixture, "a").await?.map(|node| node.revision);
    same("the other message of that commit", &revision, &Some(0))
}

async fn a_new_message_may_follow_in_the_same_commit(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a"])).await?;
    let mut commit = fixture.extend("a", ["b"]);
    commit.amendments = vec![says("a", "new")];
    fixture.applied(commit).await?;
    fixture.expect_chain("main", &["a", "b"]).await?;
    let revision = one(&fixture, "a").await?.map(|node| node.revision);
    same("the amended one", &revision, &Some(1))
}
