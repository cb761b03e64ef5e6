//! Cases about maintenance: a check finds nothing wrong after normal use, erasing leaves nothing, a
//! backup is a usable store.

use std::path::Path;

use context_core::base::CancelSource;
use context_core::store::{Commit, Maintenance};
use context_core::{CancelSignal, ErrorKind};

use crate::case::cases;
use crate::checked::{Checked, Stop};
use crate::desk::{Desk, says, stored};
use crate::expect::{ensure, refused, same};
use crate::lab::Lab;
use crate::visible::Visible;

cases!("maintenance":
    finds_nothing_after_a_busy_life if Maintenance,
    changes_nothing if Maintenance,
    can_be_cancelled if Maintenance,
    users_are_listed if Maintenance,
    erasing_takes_all_of_a_user_and_of_nobody_else if Maintenance,
    erasing_is_for_good if Maintenance,
    erasing_nobody if Maintenance,
    vacuum_loses_nothing if Maintenance,
    a_backup_is_a_store if Maintenance,
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

/// Returns all users, in pages of one. Skips the case if the store cannot list users.
pub(super) async fn all_users(maintenance: &dyn Maintenance) -> Checked<Vec<String>> {
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let page = match maintenance.users(1, after.as_ref()).await {
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                return Err(Stop::Skip(error.to_string()));
            }
            page => page?,
        };
        seen.extend(page.items.iter().map(ToString::to_string));
        after = page.next;
        if after.is_none() {
            return Ok(seen);
        }
    }
}

async fn users_are_listed(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    let maintenance = desk.store.maintenance().ok_or_else(absent)?;
    for (user, chat) in [("bob", "c"), ("bob", "d"), ("eve", "c"), ("b", "c")] {
        desk.other(user, chat).create().await?;
    }
    desk.history().delete_chat(&desk.other("eve", "c").chat, None).await?;
    let seen = all_users(maintenance).await?;
    same(
        "who has a chat, page by page",
        &seen,
        &["ada", "b", "bob"].map(ToOwned::to_owned).to_vec(),
    )?;
    refused("a page of nothing", maintenance.users(0, None).await, ErrorKind::Invalid).map(drop)
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

async fn erasing_takes_all_of_a_user_and_of_nobody_else(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    busy(&desk).await?;
    let mut bobs = Vec::new();
    for chat in ["chat", "second", "third"] {
        let there = desk.other("bob", chat);
        there.create().await?;
        busy(&there).await?;
        bobs.push(there);
    }
    let likely = desk.other("bob2", "chat");
    likely.create().await?;
    busy(&likely).await?;
    let before = [Visible::of(&desk).await?, Visible::of(&likely).await?];
    let maintenance = desk.store.maintenance().ok_or_else(absent)?;
    let erased = maintenance.erase_user(&"bob".into(), &CancelSignal::never()).await?;
    let per_chat = 130 + 4 * 2 + 1;
    let seen = (erased.chats, erased.messages, erased.remaining);
    same("chats and messages erased, records remaining", &seen, &(3, 3 * per_chat, 0))?;
    for there in &bobs {
        same("an erased chat", &Visible::of(there).await?, &None)?;
    }
    let listed = desk.history().list_chats(&context_core::store::ChatQuery::new("bob")).await?;
    same("the chats of an erased user", &listed.items, &Vec::new())?;
    same(
        "the other users' chats",
        &[Visible::of(&desk).await?, Visible::of(&likely).await?],
        &before,
    )?;
    if desk.store.search().is_some() {
        bobs[0].finds("this", &[]).await?;
        same("what others find", &desk.hits(&desk.asks("m7")).await?.len(), &1)?;
    }
    let report = maintenance.check(&CancelSignal::never()).await?;
    same("what check() found", &report.findings, &Vec::new())
}

/// Checks that a user who comes back after an erasure finds nothing, not even keys or fragments.
async fn erasing_is_for_good(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    let mut keyed = desk.extend("", ["a"]);
    keyed.key = Some("k".into());
    keyed.fragments = vec![stored("f", "x"), stored("", "y")];
    desk.applied(keyed.clone()).await?;
    desk.applied(Commit { amendments: vec![says("a", "amended")], ..desk.stay() }).await?;
    let generation = desk.whole("main").await?.generation();
    let maintenance = desk.store.maintenance().ok_or_else(absent)?;
    let erased = maintenance.erase_user(&"ada".into(), &CancelSignal::never()).await?;
    same("what remains", &(erased.chats, erased.remaining), &(1, 0))?;
    desk.create().await?;
    desk.expect_chain("main", &[]).await?;
    same("fragments of the new chat", &desk.fragments().fragments(&desk.chat).await?, &Vec::new())?;
    let anew = desk.whole("main").await?.generation();
    ensure(anew != generation, || {
        format!("the generation of the new chat: {anew} was one of the erased chat")
    })?;
    keyed.nodes = vec![says("a", "other words")];
    desk.applied(keyed).await?;
    same("revisions", &desk.history().revisions(&desk.chat, &"a".into()).await?, &Vec::new())?;
    let again = maintenance.erase_user(&"ada".into(), &CancelSignal::never()).await?;
    same("erased again", &(again.chats, again.messages, again.remaining), &(1, 1, 0))
}

async fn erasing_nobody(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    busy(&desk).await?;
    let before = Visible::of(&desk).await?;
    let maintenance = desk.store.maintenance().ok_or_else(absent)?;
    let erased = maintenance.erase_user(&"nobody".into(), &CancelSignal::never()).await?;
    same(
        "of a user who is not there",
        &(erased.chats, erased.messages, erased.remaining),
        &(0, 0, 0),
    )?;
    let result = maintenance.erase_user(&"".into(), &CancelSignal::never()).await;
    refused("erasing a user without a name", result, ErrorKind::Invalid)?;
    let source = CancelSource::new();
    source.cancel();
    let result = maintenance.erase_user(&"ada".into(), &source.signal()).await;
    refused("erasing that was cancelled before it began", result, ErrorKind::Cancelled)?;
    same("the chat after all that", &Visible::of(&desk).await?, &before)
}

/// Returns the value, or skips the case if the store does not support the call.
fn supported<T>(result: context_core::Result<T>) -> Checked<T> {
    match result {
        Err(error) if error.kind() == ErrorKind::Unsupported => Err(Stop::Skip(error.to_string())),
        result => Ok(result?),
    }
}

async fn vacuum_loses_nothing(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    busy(&desk).await?;
    let gone = desk.other("ada", "gone");
    gone.create().await?;
    let large = says("large", &"x".repeat(1 << 20));
    gone.applied(Commit { nodes: vec![large], ..gone.extend("", []) }).await?;
    same("deleting", &gone.history().delete_chat(&gone.chat, None).await?, &true)?;
    let before = Visible::of(&desk).await?;
    let maintenance = desk.store.maintenance().ok_or_else(absent)?;
    let vacuumed = supported(maintenance.vacuum().await)?;
    ensure(vacuumed.after <= vacuumed.before, || format!("the size after vacuum: {vacuumed:?}"))?;
    same("the chat then", &Visible::of(&desk).await?, &before)?;
    let report = maintenance.check(&CancelSignal::never()).await?;
    same("what check() found", &report.findings, &Vec::new())?;
    desk.applied(desk.extend("m129", ["behind"])).await.map(drop)
}

async fn a_backup_is_a_store(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    busy(&desk).await?;
    let before = Visible::of(&desk).await?;
    let location = lab.location("backup")?;
    let maintenance = desk.store.maintenance().ok_or_else(absent)?;
    supported(maintenance.backup(Path::new(&location)).await)?;
    desk.applied(desk.extend("m129", ["behind"])).await?;
    let again = maintenance.backup(Path::new(&location)).await;
    refused("a backup into a file that is there", again, ErrorKind::Invalid)?;
    let copy = desk.through(crate::child::open(lab.subject(), &location).await?);
    same("the chat in the backup", &Visible::of(&copy).await?, &before)?;
    let report = copy.store.maintenance().ok_or_else(absent)?.check(&CancelSignal::never()).await?;
    same("what check() found in the backup", &report.findings, &Vec::new())?;
    copy.applied(copy.extend("m129", ["elsewhere"])).await?;
    same(
        "the head of the original",
        &desk.whole("main").await?.head().cloned(),
        &Some("behind".into()),
    )
}
