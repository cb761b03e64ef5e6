//! Cases about durability: acknowledged writes are there after the store is reopened.

use context_core::store::{Commit, CommitOutcome, Committed};

use crate::case::cases;
use crate::checked::Checked;
use crate::desk::{Desk, id, ids, says, stored};
use crate::expect::{fail, same};
use crate::lab::Lab;
use crate::visible::Visible;

cases!("durability":
    everything_is_there_again if Durable,
    keys_and_ids_are_remembered if Durable,
    goes_on_where_it_was if Durable,
    deleted_stays_deleted if Durable,
);

async fn reopened(lab: &Lab, desk: Desk) -> Checked<Desk> {
    let Desk { chat, .. } = desk.clone();
    let at = desk.at().as_micros();
    drop(desk);
    let again = Desk::new(lab.reopen("durable").await?, chat.user.as_str(), chat.chat.as_str());
    // Advance the new clock past the old one.
    while again.at().as_micros() < at {}
    Ok(again)
}

async fn everything_is_there_again(lab: &Lab) -> Checked {
    let desk = lab.desk_in("durable").await?;
    desk.fill(70, 3).await?;
    desk.applied(desk.fork("side", "m20", ["x", "y"])).await?;
    let mut commit = desk.stay();
    commit.amendments = vec![says("m7", "amended")];
    commit.fragments = vec![stored("f", "x"), stored("", "y")];
    desk.applied(commit).await?;
    desk.history().set_checkpoint(&desk.chat, &"cp".into(), &"y".into(), desk.at()).await?;
    desk.history().activate_branch(&desk.chat, &"side".into(), desk.at()).await?;
    let before = Visible::of(&desk).await?;
    let desk = reopened(lab, desk).await?;
    same("a chat after the store was opened again", &Visible::of(&desk).await?, &before)
}

async fn keys_and_ids_are_remembered(lab: &Lab) -> Checked {
    let desk = lab.desk_in("durable").await?;
    let mut keyed = desk.next_version("main", "");
    keyed.key = Some("k".into());
    desk.applied(keyed.clone()).await?;
    desk.applied(desk.extend("", ["a"])).await?;
    let desk = reopened(lab, desk).await?;
    let again = Commit { at: desk.at(), ..keyed };
    let expected = CommitOutcome::Replayed(Committed::new(Some("main-v2".into()), None));
    same(
        "a commit with a key, repeated after opening again",
        &desk.commit(again).await?,
        &expected,
    )?;
    let expected = CommitOutcome::Replayed(Committed::new(Some("main".into()), id("a")));
    same("one without a key", &desk.commit(desk.extend("", ["a"])).await?, &expected)
}

async fn goes_on_where_it_was(lab: &Lab) -> Checked {
    let mut desk = lab.desk_in("durable").await?;
    let mut expected: Vec<String> = Vec::new();
    for round in 0..5 {
        for i in 0..7 {
            let next = format!("r{round}-{i}");
            let head = expected.last().cloned().unwrap_or_default();
            desk.applied(desk.extend(&head, [next.as_str()])).await?;
            expected.push(next);
        }
        desk = reopened(lab, desk).await?;
        same(
            format!("main after opening {} times", round + 1),
            &ids(&desk.whole("main").await?),
            &expected,
        )?;
    }
    Ok(())
}

async fn deleted_stays_deleted(lab: &Lab) -> Checked {
    let desk = lab.desk_in("durable").await?;
    desk.applied(desk.extend("", ["a"])).await?;
    same("deleting", &desk.history().delete_chat(&desk.chat, None).await?, &true)?;
    let desk = reopened(lab, desk).await?;
    match Visible::of(&desk).await? {
        None => Ok(()),
        Some(seen) => fail(format!("a chat that was deleted: expected nothing, saw {seen:?}")),
    }
}
