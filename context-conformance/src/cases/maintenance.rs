//! The store's own check finds nothing in a store that was only used.

use context_core::{CancelSignal, CancelSource, ErrorKind};

use crate::case::cases;
use crate::checked::{Checked, Stop};
use crate::desk::{Desk, says, stored};
use crate::expect::{refused, same};
use crate::lab::Lab;
use crate::visible::Visible;

cases!("maintenance":
    finds_nothing_after_a_busy_life if Maintenance,
    changes_nothing if Maintenance,
    can_be_cancelled if Maintenance,
);

async fn busy(desk: &Desk) -> Checked {
    desk.fill(130, 7).await?;
    for (i, at) in ["m0", "m16", "m64", "m129"].iter().enumerate() {
        let (a, b) = (format!("x{i}"), format!("y{i}"));
        let committed = desk.applied(desk.next_version("main", at)).await?;
        let name = committed.branch.map(|name| name.to_string()).unwrap_or_default();
        desk.applied(desk.extend_on(&name, at, [a.as_str(), b.as_str()])).await?;
        let mut amend = desk.stay();
        amend.amendments = vec![says(at, "new words"), says(&a, "other words")];
        amend.fragments = vec![stored("f", at), stored("", at)];
        desk.applied(amend).await?;
        desk.history().set_checkpoint(&desk.chat, &"cp".into(), &b.into(), desk.at()).await?;
        desk.history().activate_branch(&desk.chat, &name.into(), desk.at()).await?;
    }
    desk.applied(desk.fork("root", "", ["r"])).await?;
    let _ = desk.commit(desk.extend("m0", ["refused"])).await?;
    desk.fragments().remove_fragment(&desk.chat, &"f".into()).await?;
    Ok(())
}

fn absent() -> Stop {
    Stop::Skip("no maintenance".to_owned())
}

async fn finds_nothing_after_a_busy_life(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    busy(&desk).await?;
    let other = desk.other("bob", "chat");
    other.create().await?;
    busy(&other).await?;
    let gone = desk.other("bob", "gone");
    gone.create().await?;
    busy(&gone).await?;
    gone.history().delete_chat(&gone.chat, None).await?;
    let report = desk.store.maintenance().ok_or_else(absent)?.check(&CancelSignal::never()).await?;
    same("what check() found", &report.findings, &Vec::new())?;
    let per_chat = 130 + 4 * 2 + 1;
    same("chats and messages it looked at", &(report.chats, report.messages), &(2, 2 * per_chat))
}

async fn changes_nothing(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    busy(&desk).await?;
    let before = Visible::of(&desk).await?;
    let maintenance = desk.store.maintenance().ok_or_else(absent)?;
    let first = maintenance.check(&CancelSignal::never()).await?;
    same("the second report", &maintenance.check(&CancelSignal::never()).await?, &first)?;
    same("the chat after two checks", &Visible::of(&desk).await?, &before)
}

async fn can_be_cancelled(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    let source = CancelSource::new();
    source.cancel();
    let result = desk.store.maintenance().ok_or_else(absent)?.check(&source.signal()).await;
    refused("a check that was cancelled before it began", result, ErrorKind::Cancelled).map(drop)
}
