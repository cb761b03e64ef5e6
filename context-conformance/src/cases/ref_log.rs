//! Cases about the log of references: which changes are entries, and which entries are kept.

use context_core::base::limits::MAX_REF_CHANGES;
use context_core::store::{Commit, ForkName, RefChange, RefLog, RefLogEntry, RefLogStore, Target};
use context_core::{BranchName, CancelSignal, ErrorKind, MessageId};

use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::{ChatFixture, id, message, says, stored};
use crate::expect::{refused, same};
use crate::verdict::{Check, Stop};

cases!("ref_log":
    every_change_is_an_entry if RefLog,
    nothing_changed_is_no_entry if RefLog,
    removals_of_messages_are_counted if RefLog,
    the_newest_entries_are_kept if RefLog,
    a_cleared_log_begins_anew if RefLog,
    the_log_goes_with_its_chat if RefLog,
    another_users_chat_has_another_log if RefLog,
);

fn ability(fixture: &ChatFixture) -> Check<&dyn RefLogStore> {
    fixture.store.ref_log().ok_or_else(|| Stop::Skip("no log of references".to_owned()))
}

async fn log(fixture: &ChatFixture) -> Check<RefLog> {
    Ok(ability(fixture)?.ref_log(&fixture.chat).await?)
}

async fn changes(fixture: &ChatFixture) -> Check<Vec<RefChange>> {
    Ok(log(fixture).await?.entries().iter().map(|entry| entry.change.clone()).collect())
}

async fn set_checkpoint(fixture: &ChatFixture, message: &str) -> Check {
    let (name, message) = ("cp".into(), message.into());
    fixture.history().set_checkpoint(&fixture.chat, &name, &message, fixture.at()).await?;
    Ok(())
}

fn created(branch: &str, from: &str) -> RefChange {
    RefChange::BranchCreated { branch: branch.into(), from: id(from) }
}

fn activated(from: &str, to: &str) -> RefChange {
    RefChange::BranchActivated { from: from.into(), to: to.into() }
}

fn set(from: &str, to: &str, messages: u64) -> RefChange {
    let (checkpoint, to) = ("cp".into(), to.into());
    RefChange::CheckpointSet { checkpoint, from: id(from), to, messages }
}

/// Returns a commit of a new branch that becomes the active one.
fn active_fork(fixture: &ChatFixture, base: &str, at: &str) -> Commit {
    let name = ForkName::NextVersionOf(base.into());
    let target = Target::Fork { name, at: id(at), activate: true };
    Commit::new(fixture.chat.clone(), target, fixture.at())
}

/// Makes every kind of change, and returns the expected log.
async fn change_everything(fixture: &ChatFixture) -> Check<Vec<RefLogEntry>> {
    let (history, chat) = (fixture.history(), &fixture.chat);
    let mut expected = Vec::new();
    let mut expect = |at, change| {
        expected.push(RefLogEntry::new(expected.len() as u64 + 1, at, change));
    };
    fixture.applied(fixture.extend("", ["a", "b"])).await?;
    let fork = fixture.fork("side", "a", ["x"]);
    expect(fork.at, created("side", "a"));
    fixture.applied(fork).await?;
    let fork = Commit { nodes: vec![message("v")], ..active_fork(fixture, "main", "b") };
    expect(fork.at, created("main-v2", "b"));
    expect(fork.at, activated("main", "main-v2"));
    fixture.applied(fork).await?;
    let root = fixture.fork("root", "", []);
    expect(root.at, created("root", ""));
    fixture.applied(root).await?;
    let at = fixture.at();
    history.activate_branch(chat, &"side".into(), at).await?;
    expect(at, activated("main-v2", "side"));
    let at = fixture.at();
    history.rename_branch(chat, &"side".into(), &"aside \u{0} é".into(), at).await?;
    let renamed = BranchName::from("aside \u{0} é");
    expect(at, RefChange::BranchRenamed { from: "side".into(), to: renamed });
    for (from, to) in [("", "a"), ("a", "b")] {
        let at = fixture.at();
        history.set_checkpoint(chat, &"cp".into(), &to.into(), at).await?;
        expect(at, set(from, to, 0));
    }
    let at = fixture.at();
    history.delete_checkpoint(chat, &"cp".into(), at).await?;
    let (checkpoint, from) = ("cp".into(), MessageId::from("b"));
    expect(at, RefChange::CheckpointDeleted { checkpoint, from, messages: 0 });
    let at = fixture.at();
    let _deleted = history.delete_branch(chat, &"root".into(), None, at).await?;
    expect(at, RefChange::BranchDeleted { branch: "root".into(), head: None, messages: 0 });
    let redaction = Commit {
        redactions: vec![says("a", "[redacted]"), says("v", "[redacted]")],
        ..fixture.extend("b", ["c"])
    };
    expect(redaction.at, RefChange::MessagesRedacted { messages: 2 });
    fixture.applied(redaction).await?;
    Ok(expected)
}

async fn every_change_is_an_entry(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    same("the log of a new chat", &log(&fixture).await?, &RefLog::default())?;
    let expected = change_everything(&fixture).await?;
    same("the log", &log(&fixture).await?.entries().to_vec(), &expected)
}

async fn nothing_changed_is_no_entry(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let (history, chat) = (fixture.history(), &fixture.chat);
    fixture.applied(fixture.extend("", ["a", "b"])).await?;
    let keyed = Commit { key: Some("k".into()), ..fixture.fork("side", "a", ["x"]) };
    fixture.applied(keyed.clone()).await?;
    set_checkpoint(&fixture, "a").await?;
    let before = changes(&fixture).await?;
    same("the log before", &before, &vec![created("side", "a"), set("", "a", 0)])?;

    let amendment = Commit {
        amendments: vec![says("a", "amended")],
        fragments: vec![stored("f", "x")],
        ..fixture.extend("b", ["c"])
    };
    fixture.applied(amendment).await?;
    fixture.applied(fixture.extend_on("side", "x", ["y"])).await?;
    set_checkpoint(&fixture, "a").await?;
    history.activate_branch(chat, &"main".into(), fixture.at()).await?;
    history.rename_branch(chat, &"side".into(), &"side".into(), fixture.at()).await?;
    let gone = history.delete_checkpoint(chat, &"ghost".into(), fixture.at()).await?;
    same("deleting a checkpoint that is not there", &gone, &false)?;
    let _replayed = fixture.commit(keyed).await?;
    let _taken = fixture.commit(fixture.fork("side", "b", ["z"])).await?;
    let _moved = history.delete_branch(chat, &"side".into(), None, fixture.at()).await?;
    let active = history.delete_branch(chat, &"main".into(), id("c").as_ref(), fixture.at()).await;
    refused("deleting the active branch", active, ErrorKind::Invalid)?;
    let absent = Commit { redactions: vec![message("ghost")], ..fixture.stay() };
    refused("a redaction of nothing", history.commit(absent).await, ErrorKind::NotFound)?;
    same("the log after calls that change no reference", &changes(&fixture).await?, &before)
}

async fn removals_of_messages_are_counted(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let (history, chat) = (fixture.history(), &fixture.chat);
    fixture.applied(fixture.extend("", ["a"])).await?;
    fixture.applied(fixture.fork("side", "a", ["x", "y", "z"])).await?;
    set_checkpoint(&fixture, "y").await?;
    let _deleted =
        history.delete_branch(chat, &"side".into(), id("z").as_ref(), fixture.at()).await?;
    set_checkpoint(&fixture, "x").await?;
    history.delete_checkpoint(chat, &"cp".into(), fixture.at()).await?;
    let expected = vec![
        created("side", "a"),
        set("", "y", 0),
        RefChange::BranchDeleted { branch: "side".into(), head: id("z"), messages: 1 },
        set("y", "x", 1),
        RefChange::CheckpointDeleted { checkpoint: "cp".into(), from: "x".into(), messages: 1 },
    ];
    same("the log", &changes(&fixture).await?, &expected)
}

async fn the_newest_entries_are_kept(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a", "b"])).await?;
    for n in 0..MAX_REF_CHANGES + 3 {
        set_checkpoint(&fixture, if n % 2 == 0 { "a" } else { "b" }).await?;
    }
    // A commit with two entries drops two.
    fixture.applied(active_fork(&fixture, "main", "a")).await?;
    let log = log(&fixture).await?;
    let numbers: Vec<_> = log.entries().iter().map(|entry| entry.number).collect();
    same("the numbers", &numbers, &(6..=MAX_REF_CHANGES + 5).collect())?;
    let ends = [log.entries().first(), log.entries().last()];
    let ends = ends.map(|entry| entry.map(|entry| entry.change.clone()));
    same("its ends", &ends, &[Some(set("a", "b", 0)), Some(activated("main", "main-v2"))])
}

async fn a_cleared_log_begins_anew(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let before = change_everything(&fixture).await?.len() as u64;
    let branches = fixture.history().branches(&fixture.chat).await?;
    for deleted in [before, 0] {
        let seen = ability(&fixture)?.clear_ref_log(&fixture.chat).await?;
        same("the number of deleted entries", &seen, &deleted)?;
        same("the log", &log(&fixture).await?, &RefLog::default())?;
    }
    let now = fixture.history().branches(&fixture.chat).await?;
    same("the branches", &now, &branches)?;
    let fork = fixture.fork("new", "a", []);
    let expected = RefLogEntry::new(1, fork.at, created("new", "a"));
    fixture.applied(fork).await?;
    same("the log then", &log(&fixture).await?.entries().to_vec(), &vec![expected])
}

async fn the_log_goes_with_its_chat(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    change_everything(&fixture).await?;
    fixture.history().delete_chat(&fixture.chat, None).await?;
    fixture.create().await?;
    same("the log of a new chat", &log(&fixture).await?, &RefLog::default())?;
    change_everything(&fixture).await?;
    let Some(maintenance) = fixture.store.maintenance() else { return Ok(()) };
    let never = CancelSignal::never();
    let report = maintenance.check(&never).await?;
    same("what check() found", &report.findings, &Vec::new())?;
    let erased = maintenance.erase_user(&fixture.chat.user, &never).await?;
    same("what remains of an erased user", &erased.remaining, &0)?;
    fixture.create().await?;
    same("the log of an erased user", &log(&fixture).await?, &RefLog::default())
}

async fn another_users_chat_has_another_log(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    change_everything(&fixture).await?;
    let twin = fixture.other("bob", fixture.chat.chat.as_str());
    let absent = ability(&twin)?.ref_log(&twin.chat).await;
    refused("the log of an absent chat", absent, ErrorKind::NotFound)?;
    let absent = ability(&twin)?.clear_ref_log(&twin.chat).await;
    refused("clearing the log of an absent chat", absent, ErrorKind::NotFound)?;
    twin.create().await?;
    same("the log of a new chat", &log(&twin).await?, &RefLog::default())?;
    let before = log(&fixture).await?;
    ability(&twin)?.clear_ref_log(&twin.chat).await?;
    same("the log after clearing another user's", &log(&fixture).await?, &before)
}
