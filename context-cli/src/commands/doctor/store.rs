//! The store itself: whether it opens, what it promises, how fast it answers, and what is in it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytesize::ByteSize;
use context_runtime::store::{
    ChainEnd, ChatQuery, ChatSummary, Durability, OpenMode, StoreFacts, StoreInfo, Window,
};
use context_runtime::{Error, Store, Timestamp, limits};

use super::checks::{CLOCK_SKEW, Check, SLOW_CALL, SLOW_LIST, wants_vacuum};
use crate::app::App;
use crate::error::Failure;
use crate::text::count;

/// The longest that one question may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// The calls whose median is the time of a call.
const CALLS: usize = 5;
/// The pages of chats that are counted.
const PAGES: usize = 10;
/// The newest chats whose streams are looked at.
const STREAMS_OF: usize = 20;
/// The time after which an unfinished stream counts as abandoned, in microseconds.
const ABANDONED: i64 = 24 * 60 * 60 * 1_000_000;

/// Checks the store. `is_remote` says that its file is on a network file system.
pub(super) async fn checks(app: &App, url: Option<&str>, is_remote: bool) -> Vec<Check> {
    let started = Instant::now();
    let opened = within(async {
        match url {
            Some(url) => {
                let store = app.stores().open_with(url, OpenMode::Read).await?;
                app.settings.keys.encrypt(store)
            }
            None => app.store_to_read().await,
        }
    });
    let store = match opened.await {
        None => return vec![silent("open")],
        Some(Err(failure)) => return vec![unopened(url, failure)],
        Some(Ok(store)) => store,
    };
    let open = milliseconds(started);
    let info = store.info();
    let facts = facts(&*store).await;
    let mut checks = vec![Check::ok("open", opened_as(&info, &facts)), durability(&info)];
    checks.extend(size(&facts));
    checks.extend(probe(app, &store, open, is_remote).await);
    if let Some(check) = clock(app.now(), &facts, &info) {
        checks.push(check);
    }
    checks.push(search(&*store));
    // A store that is only read has nothing to lose.
    let _ = within(store.close()).await;
    checks
}

/// Waits for an answer, but not for ever.
async fn within<T>(work: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(PATIENCE, work).await.ok()
}

fn milliseconds(started: Instant) -> f64 {
    started.elapsed().as_secs_f64() * 1000.0
}

fn silent(name: &'static str) -> Check {
    let seconds = PATIENCE.as_secs();
    Check::problem(name, format!("there was no answer within {seconds} seconds"))
        .advice("check the address, and that the server runs and can be reached")
}

/// Explains why a store cannot be opened.
fn unopened(url: Option<&str>, failure: Failure) -> Check {
    let about = |key: &str| matches!(&failure, Failure::Store(error) if error.get(key).is_some());
    let server = url.is_some_and(|url| url.contains("://") && !url.starts_with("sqlite:"));
    let advice = match failure.kind() {
        "not_found" => {
            "name another store with --store or CONTEXT_STORE; `context import FILE` creates one"
        }
        _ if about("older_schema") => {
            "an upgrade is due: `context backup FILE` with the older program, then `context upgrade`"
        }
        _ if about("newer_schema") => {
            "install a version of this program that is as new as the store"
        }
        "corrupt" => "`context verify` lists the damage; a backup replaces the store",
        "unavailable" | "timeout" if server => {
            "check the address and the password, and that the server runs and can be reached"
        }
        "unavailable" | "timeout" => "check the permissions, and which program uses the file",
        _ => "check --store and CONTEXT_STORE; docs/store-urls.md lists what a URL may say",
    };
    let detail = match &failure {
        Failure::Store(error) if error.is_not_found() => "there is no store".to_owned(),
        failure => reason(failure),
    };
    Check::problem("open", detail).advice(advice)
}

/// Returns the message of a failure with its causes and with the facts that it does not name.
pub(super) fn reason(failure: &Failure) -> String {
    let mut text = failure.to_string();
    let mut cause = std::error::Error::source(failure);
    while let Some(error) = cause {
        let message = error.to_string();
        if !error.is::<Error>() && !text.contains(&message) {
            text = format!("{text}: {message}");
        }
        cause = error.source();
    }
    for (key, value) in failure.context() {
        if key != "operation" && !text.contains(&value) {
            text = format!("{text} ({key} {value})");
        }
    }
    text
}

async fn facts(store: &dyn Store) -> Option<StoreFacts> {
    within(store.maintenance()?.facts()).await?.ok()
}

fn opened_as(info: &StoreInfo, facts: &Option<StoreFacts>) -> String {
    let engine = facts.as_ref().and_then(|facts| facts.engine.as_deref()).unwrap_or(info.name);
    let sharing = if info.shared { "may be used by several processes" } else { "of one process" };
    let secret = if info.encrypted { ", encrypted" } else { "" };
    format!("{engine}, the schema is up to date, {sharing}{secret}")
}

fn durability(info: &StoreInfo) -> Check {
    let promise = |durability| match durability {
        Durability::PowerLoss => "a write survives a power failure",
        Durability::ProcessCrash => {
            "a write survives a crash, and the newest may be lost in a power failure"
        }
        Durability::Server => {
            "a write survives this process, and may be lost if the server crashes"
        }
        Durability::Process => "writes are gone with the process",
        _ => "not known to this program",
    };
    let mut detail = promise(info.durability).to_owned();
    if let Some(warning) = info.warning {
        let advice = match info.name {
            "redis" => {
                "set `appendonly yes`, `appendfsync always` and `maxmemory-policy noeviction` in the server's configuration"
            }
            _ => "change the setting on the server if its writes matter",
        };
        return Check::warning("durability", format!("{detail}: {warning}")).advice(advice);
    }
    match info.durability {
        Durability::PowerLoss => Check::ok("durability", detail),
        Durability::ProcessCrash => {
            if info.name == "sqlite" {
                detail.push_str("; `?durability=full` in the URL prevents that");
            }
            Check::ok("durability", detail)
        }
        _ => Check::warning("durability", detail),
    }
}

fn size(facts: &Option<StoreFacts>) -> Option<Check> {
    let facts = facts.as_ref()?;
    let bytes = facts.bytes?;
    let detail = match facts.unused {
        Some(unused) => format!("{}, of which {} are unused", ByteSize(bytes), ByteSize(unused)),
        None => ByteSize(bytes).to_string(),
    };
    Some(match facts.unused {
        Some(unused) if wants_vacuum(unused, bytes) => Check::warning("size", detail)
            .advice("`context vacuum` returns the unused space; it needs as much free on the disk"),
        _ => Check::ok("size", detail),
    })
}

fn clock(now: Timestamp, facts: &Option<StoreFacts>, info: &StoreInfo) -> Option<Check> {
    let time = facts.as_ref().and_then(|facts| facts.time);
    let Some(time) = time else {
        let has_server = matches!(info.name, "postgres" | "redis");
        return has_server.then(|| Check::unknown("clock", "the server does not tell its time"));
    };
    #[expect(clippy::cast_precision_loss, reason = "a difference of clocks is shown to a tenth")]
    let skew = now.as_micros().saturating_sub(time.as_micros()) as f64 / 1e6;
    let detail =
        format!("the clock of this machine and the server's differ by {:.1} s", skew.abs());
    Some(match skew.abs() > CLOCK_SKEW {
        true => Check::warning("clock", detail)
            .advice("times of messages and leases come from both: let NTP set the clocks"),
        false => Check::ok("clock", detail),
    })
}

fn search(store: &dyn Store) -> Check {
    Check::ok(
        "search",
        match store.search() {
            Some(_) => "messages have a full-text index",
            None => "there is no full-text index, which is decided when a store is created",
        },
    )
}

/// Times a few cheap reads, and counts what they return.
async fn probe(app: &App, store: &Arc<dyn Store>, open: f64, is_remote: bool) -> Vec<Check> {
    let (mut times, mut chats, mut messages) = (Vec::new(), 0_u64, 0_u64);
    let mut newest: Vec<ChatSummary> = Vec::new();
    let work = async {
        let history = store.history();
        for _ in 0..CALLS {
            let started = Instant::now();
            history.chat(&app.chat("context-doctor-asks")).await?;
            times.push(milliseconds(started));
        }
        times.sort_by(f64::total_cmp);
        let call = times.get(CALLS / 2).copied().unwrap_or_default();
        let started = Instant::now();
        let mut query = ChatQuery { limit: limits::MAX_PAGE, ..ChatQuery::new(app.user.clone()) };
        let page = history.list_chats(&query).await?;
        let list = milliseconds(started);
        let mut read = 0.0;
        if let Some(summary) = page.items.first() {
            let started = Instant::now();
            let end = ChainEnd::Branch(summary.chat.active.clone());
            history.chain(&summary.chat.chat, &end, &Window::Last(50)).await?;
            read = milliseconds(started);
        }
        query.after = page.next;
        let tally = |items: &[ChatSummary]| {
            (items.len() as u64, items.iter().map(|chat| chat.messages).sum::<u64>())
        };
        (chats, messages) = tally(&page.items);
        newest = page.items.into_iter().take(STREAMS_OF).collect();
        for _ in 1..PAGES {
            if query.after.is_none() {
                break;
            }
            let page = history.list_chats(&query).await?;
            let (more, of_them) = tally(&page.items);
            (chats, messages) = (chats + more, messages + of_them);
            query.after = page.next;
        }
        Ok::<_, Error>((call, list, read, query.after.is_some()))
    };
    let (call, list, read, is_more) = match within(work).await {
        None => return vec![silent("speed")],
        Some(Err(error)) => {
            let advice = "`context verify` lists all damage";
            return vec![Check::problem("speed", reason(&error.into())).advice(advice)];
        }
        Some(Ok(measured)) => measured,
    };
    let at_least = if is_more { "more than " } else { "" };
    let number = |n: u64, one| count(usize::try_from(n).unwrap_or(usize::MAX), one);
    let held = format!(
        "{at_least}{} of this user, {}",
        number(chats, "chat"),
        number(messages, "message")
    );
    let speed = format!(
        "open {open:.0} ms, list chats {list:.0} ms, read the newest {read:.0} ms, a call {call:.1} ms"
    );
    let mut checks = vec![
        verdict(speed, open.max(list).max(read), call, is_remote, store.info().name),
        Check::ok("chats", held),
    ];
    checks.extend(streams(app.now(), &**store, &newest).await);
    checks
}

/// Says what makes a store slow, if it is.
fn verdict(detail: String, slowest: f64, call: f64, is_remote: bool, name: &str) -> Check {
    let has_server = matches!(name, "postgres" | "redis");
    let why = match (call > SLOW_CALL, slowest > SLOW_LIST) {
        _ if is_remote => Some("the file is on a network file system: see `disk`"),
        (true, _) if has_server => {
            Some("every call is a journey to the server: run the command nearer to it")
        }
        (true, _) => Some("the disk is slow or busy: `context vacuum` makes a file compact"),
        (false, true) if has_server => {
            Some("the server is busy or connecting is slow: look at its load")
        }
        (false, true) => Some("the file is read slowly: `context vacuum` makes it compact"),
        (false, false) => None,
    };
    match why {
        Some(why) => Check::warning("speed", detail).advice(why),
        None => Check::ok("speed", detail),
    }
}

/// Finds streams of the newest chats that no program writes to any more.
async fn streams(now: Timestamp, store: &dyn Store, chats: &[ChatSummary]) -> Option<Check> {
    let streams = store.streams()?;
    let work = async {
        let mut abandoned = 0;
        for summary in chats {
            let page = streams.streams(&summary.chat.chat, limits::MAX_PAGE, None).await?;
            let old = |at: Timestamp| now.as_micros().saturating_sub(at.as_micros()) > ABANDONED;
            let left = page.items.iter().filter(|one| !one.state.is_final() && old(one.updated_at));
            abandoned += left.count();
        }
        Ok::<_, Error>(abandoned)
    };
    Some(match within(work).await {
        Some(Ok(0)) => return None,
        Some(Ok(n)) => {
            let detail = format!(
                "{} of the newest {} not written to for a day",
                count(n, "unfinished stream"),
                count(chats.len(), "chat")
            );
            Check::warning("streams", detail)
                .advice("`context streams prune --abandoned 1d --dry-run` shows them")
        }
        _ => Check::unknown("streams", "the streams of the newest chats cannot be read"),
    })
}
