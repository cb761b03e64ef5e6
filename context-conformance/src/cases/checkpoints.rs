//! Cases about checkpoints: named pointers to messages.

use context_core::ErrorKind;
use context_core::store::{Checkpoint, CommitOutcome};

use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::says;
use crate::expect::{refused, same};
use crate::verdict::Check;

cases!("checkpoints": set_moved_and_deleted, listed_by_name, need_a_message_of_the_chat,
    stay_when_messages_change);

async fn set_moved_and_deleted(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a", "b"])).await?;
    for message in ["a", "b", "a"] {
        let at = fixture.at();
        let expected = Checkpoint::new("here".into(), message.into(), at);
        let set = fixture
            .history()
            .set_checkpoint(&fixture.chat, &"here".into(), &message.into(), at)
            .await?;
        same(format!("set_checkpoint at {message:?}"), &set, &expected)?;
        same("checkpoints", &fixture.history().checkpoints(&fixture.chat).await?, &vec![expected])?;
    }
    for expected in [true, false] {
        let (name, at) = ("here".into(), fixture.at());
        let deleted = fixture.history().delete_checkpoint(&fixture.chat, &name, at).await?;
        same("delete_checkpoint", &deleted, &expected)?;
    }
    same("checkpoints then", &fixture.history().checkpoints(&fixture.chat).await?, &Vec::new())
}

async fn listed_by_name(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a"])).await?;
    for name in ["b", "ä", "a", "B", "a b", "10", "9"] {
        fixture
            .history()
            .set_checkpoint(&fixture.chat, &name.into(), &"a".into(), fixture.at())
            .await?;
    }
    let listed = fixture.history().checkpoints(&fixture.chat).await?;
    let names: Vec<_> = listed.iter().map(|checkpoint| checkpoint.name.as_str()).collect();
    same("the names", &names, &vec!["10", "9", "B", "a", "a b", "b", "ä"])
}

async fn need_a_message_of_the_chat(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let other = fixture.other("ada", "other");
    other.create().await?;
    other.applied(other.extend("", ["theirs"])).await?;
    for message in ["ghost", "theirs"] {
        let result = fixture
            .history()
            .set_checkpoint(&fixture.chat, &"cp".into(), &message.into(), fixture.at())
            .await;
        refused(
            format!("a checkpoint at {message:?}, not of this chat"),
            result,
            ErrorKind::NotFound,
        )?;
    }
    same("checkpoints", &fixture.history().checkpoints(&fixture.chat).await?, &Vec::new())
}

async fn stay_when_messages_change(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a", "b"])).await?;
    fixture.applied(fixture.fork("side", "a", ["c"])).await?;
    let at = fixture.at();
    let expected =
        vec![fixture.history().set_checkpoint(&fixture.chat, &"cp".into(), &"c".into(), at).await?];
    let mut amend = fixture.extend("b", ["d"]);
    amend.amendments = vec![says("c", "other words")];
    let outcome = fixture.commit(amend).await?;
    same("amending", &matches!(outcome, CommitOutcome::Applied(_)), &true)?;
    same("checkpoints", &fixture.history().checkpoints(&fixture.chat).await?, &expected)
}
