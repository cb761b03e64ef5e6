//! Cases about checkpoints: named pointers to messages.

use context_core::ErrorKind;
use context_core::store::{Checkpoint, CommitOutcome};

use crate::case::cases;
use crate::checked::Checked;
use crate::desk::says;
use crate::expect::{refused, same};
use crate::lab::Lab;

cases!("checkpoints": set_moved_and_deleted, listed_by_name, need_a_message_of_the_chat,
    stay_when_messages_change);

async fn set_moved_and_deleted(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    desk.applied(desk.extend("", ["a", "b"])).await?;
    for message in ["a", "b", "a"] {
        let at = desk.at();
        let expected = Checkpoint::new("here".into(), message.into(), at);
        let set =
            desk.history().set_checkpoint(&desk.chat, &"here".into(), &message.into(), at).await?;
        same(format!("set_checkpoint at {message:?}"), &set, &expected)?;
        same("checkpoints", &desk.history().checkpoints(&desk.chat).await?, &vec![expected])?;
    }
    for expected in [true, false] {
        let deleted = desk.history().delete_checkpoint(&desk.chat, &"here".into()).await?;
        same("delete_checkpoint", &deleted, &expected)?;
    }
    same("checkpoints then", &desk.history().checkpoints(&desk.chat).await?, &Vec::new())
}

async fn listed_by_name(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    desk.applied(desk.extend("", ["a"])).await?;
    for name in ["b", "ä", "a", "B", "a b", "10", "9"] {
        desk.history().set_checkpoint(&desk.chat, &name.into(), &"a".into(), desk.at()).await?;
    }
    let listed = desk.history().checkpoints(&desk.chat).await?;
    let names: Vec<_> = listed.iter().map(|checkpoint| checkpoint.name.as_str()).collect();
    same("the names", &names, &vec!["10", "9", "B", "a", "a b", "b", "ä"])
}

async fn need_a_message_of_the_chat(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    let other = desk.other("ada", "other");
    other.create().await?;
    other.applied(other.extend("", ["theirs"])).await?;
    for message in ["ghost", "theirs"] {
        let result = desk
            .history()
            .set_checkpoint(&desk.chat, &"cp".into(), &message.into(), desk.at())
            .await;
        refused(
            format!("a checkpoint at {message:?}, not of this chat"),
            result,
            ErrorKind::NotFound,
        )?;
    }
    same("checkpoints", &desk.history().checkpoints(&desk.chat).await?, &Vec::new())
}

async fn stay_when_messages_change(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    desk.applied(desk.extend("", ["a", "b"])).await?;
    desk.applied(desk.fork("side", "a", ["c"])).await?;
    let at = desk.at();
    let expected =
        vec![desk.history().set_checkpoint(&desk.chat, &"cp".into(), &"c".into(), at).await?];
    let mut amend = desk.extend("b", ["d"]);
    amend.amendments = vec![says("c", "other words")];
    let outcome = desk.commit(amend).await?;
    same("amending", &matches!(outcome, CommitOutcome::Applied(_)), &true)?;
    same("checkpoints", &desk.history().checkpoints(&desk.chat).await?, &expected)
}
