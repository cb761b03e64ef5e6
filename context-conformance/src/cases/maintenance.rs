//! Cases about maintenance: a check finds nothing wrong after normal use, facts are plausible,
//! erasing leaves nothing, a backup is a usable store.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use context_core::base::CancelSource;
use context_core::store::{Commit, LeaseClaim, Maintenance, StoreFacts};
use context_core::{CancelSignal, ErrorKind};

use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::{ChatFixture, says, stored};
use crate::expect::{ensure, fail, refused, same};
use crate::verdict::{Check, Stop};
use crate::visible_chat::VisibleChat;

cases!("maintenance":
    finds_nothing_after_a_busy_life if Maintenance,
    changes_nothing if Maintenance,
    can_be_cancelled if Maintenance,
    facts_are_plausible_and_asking_changes_nothing if Maintenance,
    users_are_listed if Maintenance,
    erasing_takes_all_of_a_user_and_of_nobody_else if Maintenance,
    erasing_is_for_good if Maintenance,
    erasing_nobody if Maintenance,
    erasing_says_how_far_it_is if Maintenance,
    vacuum_loses_nothing if Maintenance,
    a_backup_is_a_store if Maintenance,
);

async fn busy(fixture: &ChatFixture) -> Check {
    fixture.fill(130, 7).await?;
    for (i, at) in ["m0", "m16", "m64", "m129"].iter().enumerate() {
        let (a, b) = (format!("x{i}"), format!("y{i}"));
        let committed = fixture.applied(fixture.next_version("main", at)).await?;
        let name = committed.branch.map(|name| name.to_string()).unwrap_or_default();
        fixture.applied(fixture.extend_on(&name, at, [a.as_str(), b.as_str()])).await?;
        let mut amend = fixture.stay();
        amend.amendments = vec![says(at, "new words"), says(&a, "other words")];
        amend.fragments = vec![stored("f", at), stored("", at)];
        fixture.applied(amend).await?;
        fixture
            .history()
            .set_checkpoint(&fixture.chat, &"cp".into(), &b.into(), fixture.at())
            .await?;
        fixture.history().activate_branch(&fixture.chat, &name.into(), fixture.at()).await?;
    }
    fixture.applied(fixture.fork("root", "", ["r"])).await?;
    let _ = fixture.commit(fixture.extend("m0", ["refused"])).await?;
    fixture.fragments().remove_fragment(&fixture.chat, &"f".into(), fixture.at()).await?;
    if let Some(leases) = fixture.store.leases() {
        // Ended when the next call is made.
        let claim = LeaseClaim::new("w", fixture.at(), Duration::from_micros(1));
        let _ = leases.take_lease(&fixture.chat, &claim).await?;
    }
    Ok(())
}

fn absent() -> Stop {
    Stop::Skip("no maintenance".to_owned())
}

/// Returns all users, in pages of one. Skips the case if the store cannot list users.
pub(super) async fn all_users(maintenance: &dyn Maintenance) -> Check<Vec<String>> {
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

async fn users_are_listed(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let maintenance = fixture.store.maintenance().ok_or_else(absent)?;
    for (user, chat) in [("bob", "c"), ("bob", "d"), ("eve", "c"), ("b", "c")] {
        fixture.other(user, chat).create().await?;
    }
    fixture.history().delete_chat(&fixture.other("eve", "c").chat, None).await?;
    let seen = all_users(maintenance).await?;
    same(
        "who has a chat, page by page",
        &seen,
        &["ada", "b", "bob"].map(ToOwned::to_owned).to_vec(),
    )?;
    refused("a page of nothing", maintenance.users(0, None).await, ErrorKind::Invalid).map(drop)
}

async fn finds_nothing_after_a_busy_life(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    busy(&fixture).await?;
    let other = fixture.other("bob", "chat");
    other.create().await?;
    busy(&other).await?;
    let gone = fixture.other("bob", "gone");
    gone.create().await?;
    busy(&gone).await?;
    gone.history().delete_chat(&gone.chat, None).await?;
    let report =
        fixture.store.maintenance().ok_or_else(absent)?.check(&CancelSignal::never()).await?;
    same("what check() found", &report.findings, &Vec::new())?;
    let per_chat = 130 + 4 * 2 + 1;
    same("chats and messages it looked at", &(report.chats, report.messages), &(2, 2 * per_chat))
}

async fn changes_nothing(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    busy(&fixture).await?;
    let before = VisibleChat::of(&fixture).await?;
    let maintenance = fixture.store.maintenance().ok_or_else(absent)?;
    let first = maintenance.check(&CancelSignal::never()).await?;
    same("the second report", &maintenance.check(&CancelSignal::never()).await?, &first)?;
    same("the chat after two checks", &VisibleChat::of(&fixture).await?, &before)
}

async fn can_be_cancelled(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let source = CancelSource::new();
    source.cancel();
    let result = fixture.store.maintenance().ok_or_else(absent)?.check(&source.signal()).await;
    refused("a check that was cancelled before it began", result, ErrorKind::Cancelled).map(drop)
}

async fn facts_are_plausible_and_asking_changes_nothing(case: &CaseContext) -> Check {
    let fixture = ChatFixture::new(case.open("facts").await?, "ada", "chat");
    let maintenance = fixture.store.maintenance().ok_or_else(absent)?;
    let empty = plausible_facts(&fixture, maintenance).await?;
    fixture.create().await?;
    busy(&fixture).await?;
    let full = plausible_facts(&fixture, maintenance).await?;
    same("the facts that are known with content", &known(&full), &known(&empty))?;
    // The size may be that of a server which has other stores, too: they may shrink meanwhile.
    const ATTEMPTS: usize = 8;
    let mut head = "m129".to_owned();
    for n in 0..ATTEMPTS {
        let id = format!("large{n}");
        let before = maintenance.facts().await?.bytes;
        let nodes = vec![says(&id, &"x".repeat(1 << 20))];
        fixture.applied(Commit { nodes, ..fixture.extend(&head, []) }).await?;
        if maintenance.facts().await?.bytes >= before {
            return Ok(());
        }
        head = id;
    }
    fail(format!("the store is smaller after each of {ATTEMPTS} messages of 1 MiB"))
}

/// Asks for the facts, and checks that they can be true and that the store is as before.
async fn plausible_facts(
    fixture: &ChatFixture,
    maintenance: &dyn Maintenance,
) -> Check<StoreFacts> {
    const SKEW: Duration = Duration::from_secs(10 * 60);
    let report = maintenance.check(&CancelSignal::never()).await?;
    let chat = VisibleChat::of(fixture).await?;
    let facts = maintenance.facts().await?;
    same("the chat after asking for facts", &VisibleChat::of(fixture).await?, &chat)?;
    let checked = maintenance.check(&CancelSignal::never()).await?;
    same("the check after asking for facts", &checked, &report)?;
    let is_named = facts.engine.as_ref().is_none_or(|engine| !engine.trim().is_empty());
    let is_part = facts.bytes.zip(facts.unused).is_none_or(|(bytes, unused)| unused <= bytes);
    let is_now = facts.time.is_none_or(|time| {
        let time = UNIX_EPOCH + Duration::from_micros(time.as_micros().try_into().unwrap_or(0));
        let now = SystemTime::now();
        now.duration_since(time).or_else(|_| time.duration_since(now)).is_ok_and(|by| by < SKEW)
    });
    ensure(is_named && is_part && is_now, || format!("facts that cannot be true: {facts:?}"))?;
    Ok(facts)
}

/// Returns the engine, and which of the other facts are known.
fn known(facts: &StoreFacts) -> (Option<&str>, [bool; 3]) {
    let others = [facts.bytes.is_some(), facts.unused.is_some(), facts.time.is_some()];
    (facts.engine.as_deref(), others)
}

async fn erasing_takes_all_of_a_user_and_of_nobody_else(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    busy(&fixture).await?;
    let mut bobs = Vec::new();
    for chat in ["chat", "second", "third"] {
        let there = fixture.other("bob", chat);
        there.create().await?;
        busy(&there).await?;
        bobs.push(there);
    }
    let likely = fixture.other("bob2", "chat");
    likely.create().await?;
    busy(&likely).await?;
    let before = [VisibleChat::of(&fixture).await?, VisibleChat::of(&likely).await?];
    let maintenance = fixture.store.maintenance().ok_or_else(absent)?;
    let erased = maintenance.erase_user(&"bob".into(), &CancelSignal::never()).await?;
    let per_chat = 130 + 4 * 2 + 1;
    let seen = (erased.chats, erased.messages, erased.remaining);
    same("chats and messages erased, records remaining", &seen, &(3, 3 * per_chat, 0))?;
    for there in &bobs {
        same("an erased chat", &VisibleChat::of(there).await?, &None)?;
    }
    let listed = fixture.history().list_chats(&context_core::store::ChatQuery::new("bob")).await?;
    same("the chats of an erased user", &listed.items, &Vec::new())?;
    same(
        "the other users' chats",
        &[VisibleChat::of(&fixture).await?, VisibleChat::of(&likely).await?],
        &before,
    )?;
    if fixture.store.search().is_some() {
        bobs[0].finds("this", &[]).await?;
        same("what others find", &fixture.hits(&fixture.asks("m7")).await?.len(), &1)?;
    }
    let report = maintenance.check(&CancelSignal::never()).await?;
    same("what check() found", &report.findings, &Vec::new())
}

/// Checks that a user who comes back after an erasure finds nothing, not even keys or fragments.
async fn erasing_is_for_good(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let mut keyed = fixture.extend("", ["a"]);
    keyed.key = Some("k".into());
    keyed.fragments = vec![stored("f", "x"), stored("", "y")];
    fixture.applied(keyed.clone()).await?;
    fixture.applied(Commit { amendments: vec![says("a", "amended")], ..fixture.stay() }).await?;
    let generation = fixture.whole("main").await?.generation();
    let maintenance = fixture.store.maintenance().ok_or_else(absent)?;
    let erased = maintenance.erase_user(&"ada".into(), &CancelSignal::never()).await?;
    same("what remains", &(erased.chats, erased.remaining), &(1, 0))?;
    fixture.create().await?;
    fixture.expect_chain("main", &[]).await?;
    same(
        "fragments of the new chat",
        &fixture.fragments().fragments(&fixture.chat).await?,
        &Vec::new(),
    )?;
    let anew = fixture.whole("main").await?.generation();
    ensure(anew != generation, || {
        format!("the generation of the new chat: {anew} was one of the erased chat")
    })?;
    keyed.nodes = vec![says("a", "other words")];
    fixture.applied(keyed).await?;
    same(
        "revisions",
        &fixture.history().revisions(&fixture.chat, &"a".into()).await?,
        &Vec::new(),
    )?;
    let again = maintenance.erase_user(&"ada".into(), &CancelSignal::never()).await?;
    same("erased again", &(again.chats, again.messages, again.remaining), &(1, 1, 0))
}

async fn erasing_nobody(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    busy(&fixture).await?;
    let before = VisibleChat::of(&fixture).await?;
    let maintenance = fixture.store.maintenance().ok_or_else(absent)?;
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
    same("the chat after all that", &VisibleChat::of(&fixture).await?, &before)
}

async fn erasing_says_how_far_it_is(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    busy(&fixture).await?;
    let second = fixture.other("ada", "second");
    second.create().await?;
    busy(&second).await?;
    let reached = Arc::new(AtomicU64::new(0));
    let listener = Arc::clone(&reached);
    let signal = CancelSignal::never().reporting(move |steps, done| {
        if steps == "message" {
            listener.store(done, Ordering::Relaxed);
        }
    });
    let maintenance = fixture.store.maintenance().ok_or_else(absent)?;
    let erased = maintenance.erase_user(&"ada".into(), &signal).await?;
    same(
        "the last number of messages it reported",
        &reached.load(Ordering::Relaxed),
        &erased.messages,
    )
}

/// Returns the value, or skips the case if the store does not support the call.
fn supported<T>(result: context_core::Result<T>) -> Check<T> {
    match result {
        Err(error) if error.kind() == ErrorKind::Unsupported => Err(Stop::Skip(error.to_string())),
        result => Ok(result?),
    }
}

async fn vacuum_loses_nothing(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    busy(&fixture).await?;
    let gone = fixture.other("ada", "gone");
    gone.create().await?;
    let large = says("large", &"x".repeat(1 << 20));
    gone.applied(Commit { nodes: vec![large], ..gone.extend("", []) }).await?;
    same("deleting", &gone.history().delete_chat(&gone.chat, None).await?, &true)?;
    let before = VisibleChat::of(&fixture).await?;
    let maintenance = fixture.store.maintenance().ok_or_else(absent)?;
    let vacuumed = supported(maintenance.vacuum().await)?;
    ensure(vacuumed.after <= vacuumed.before, || format!("the size after vacuum: {vacuumed:?}"))?;
    same("the chat then", &VisibleChat::of(&fixture).await?, &before)?;
    let report = maintenance.check(&CancelSignal::never()).await?;
    same("what check() found", &report.findings, &Vec::new())?;
    fixture.applied(fixture.extend("m129", ["behind"])).await.map(drop)
}

async fn a_backup_is_a_store(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    busy(&fixture).await?;
    let before = VisibleChat::of(&fixture).await?;
    let location = case.location("backup")?;
    let maintenance = fixture.store.maintenance().ok_or_else(absent)?;
    supported(maintenance.backup(Path::new(&location)).await)?;
    fixture.applied(fixture.extend("m129", ["behind"])).await?;
    let again = maintenance.backup(Path::new(&location)).await;
    refused("a backup into a file that is there", again, ErrorKind::Invalid)?;
    let copy = fixture.through(crate::child::open(case.subject(), &location).await?);
    same("the chat in the backup", &VisibleChat::of(&copy).await?, &before)?;
    let report = copy.store.maintenance().ok_or_else(absent)?.check(&CancelSignal::never()).await?;
    same("what check() found in the backup", &report.findings, &Vec::new())?;
    copy.applied(copy.extend("m129", ["elsewhere"])).await?;
    same(
        "the head of the original",
        &fixture.whole("main").await?.head().cloned(),
        &Some("behind".into()),
    )
}
