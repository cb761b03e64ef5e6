//! Cases about durability: acknowledged writes are there after the store is reopened.

use context_core::store::{Commit, CommitOutcome, Committed};

use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::{ChatFixture, id, ids, says, stored};
use crate::expect::{fail, same};
use crate::verdict::Check;
use crate::visible_chat::VisibleChat;

cases!("durability":
    everything_is_there_again if Durable,
    keys_and_ids_are_remembered if Durable,
    goes_on_where_it_was if Durable,
    deleted_stays_deleted if Durable,
);

pub(super) async fn reopened(case: &CaseContext, fixture: ChatFixture) -> Check<ChatFixture> {
    let ChatFixture { chat, .. } = fixture.clone();
    let at = fixture.at().as_micros();
    drop(fixture);
    let again =
        ChatFixture::new(case.reopen("durable").await?, chat.user.as_str(), chat.chat.as_str());
    // Advance the new clock past the old one.
    while again.at().as_micros() < at {}
    Ok(again)
}

async fn everything_is_there_again(case: &CaseContext) -> Check {
    let fixture = case.fixture_in("durable").await?;
    fixture.fill(70, 3).await?;
    fixture.applied(fixture.fork("side", "m20", ["x", "y"])).await?;
    let mut commit = fixture.stay();
    commit.amendments = vec![says("m7", "amended")];
    commit.fragments = vec![stored("f", "x"), stored("", "y")];
    fixture.applied(commit).await?;
    fixture
        .history()
        .set_checkpoint(&fixture.chat, &"cp".into(), &"y".into(), fixture.at())
        .await?;
    fixture.history().activate_branch(&fixture.chat, &"side".into(), fixture.at()).await?;
    let before = VisibleChat::of(&fixture).await?;
    let fixture = reopened(case, fixture).await?;
    same("a chat after the store was opened again", &VisibleChat::of(&fixture).await?, &before)
}

async fn keys_and_ids_are_remembered(case: &CaseContext) -> Check {
    let fixture = case.fixture_in("durable").await?;
    let mut keyed = fixture.next_version("main", "");
    keyed.key = Some("k".into());
    fixture.applied(keyed.clone()).await?;
    fixture.applied(fixture.extend("", ["a"])).await?;
    let fixture = reopened(case, fixture).await?;
    let again = Commit { at: fixture.at(), ..keyed };
    let expected = CommitOutcome::Replayed(Committed::new(Some("main-v2".into()), None));
    same(
        "a commit with a key, repeated after opening again",
        &fixture.commit(again).await?,
        &expected,
    )?;
    let expected = CommitOutcome::Replayed(Committed::new(Some("main".into()), id("a")));
    same("one without a key", &fixture.commit(fixture.extend("", ["a"])).await?, &expected)
}

async fn goes_on_where_it_was(case: &CaseContext) -> Check {
    let mut fixture = case.fixture_in("durable").await?;
    let mut expected: Vec<String> = Vec::new();
    for round in 0..5 {
        for i in 0..7 {
            let next = format!("r{round}-{i}");
            let head = expected.last().cloned().unwrap_or_default();
            fixture.applied(fixture.extend(&head, [next.as_str()])).await?;
            expected.push(next);
        }
        fixture = reopened(case, fixture).await?;
        same(
            format!("main after opening {} times", round + 1),
            &ids(&fixture.whole("main").await?),
            &expected,
        )?;
    }
    Ok(())
}

async fn deleted_stays_deleted(case: &CaseContext) -> Check {
    let fixture = case.fixture_in("durable").await?;
    fixture.applied(fixture.extend("", ["a"])).await?;
    same("deleting", &fixture.history().delete_chat(&fixture.chat, None).await?, &true)?;
    let fixture = reopened(case, fixture).await?;
    match VisibleChat::of(&fixture).await? {
        None => Ok(()),
        Some(seen) => fail(format!("a chat that was deleted: expected nothing, saw {seen:?}")),
    }
}
