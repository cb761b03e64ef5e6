//! Damaged files: every reading call returns the same as before the damage or an error for damage,
//! and the check finds all damage that changes an answer.
//!
//! `CONTEXT_DAMAGED_FILES` is the number of damaged files, `CONTEXT_DAMAGE_SEED` the first seed. A
//! failure reports its seed, and `CONTEXT_DAMAGED_FILES=1 CONTEXT_DAMAGE_SEED=<seed>` reproduces
//! the file.

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use context_core::memory::{MemoryRecord, MemoryScope, MemorySource, MemoryVector};
use context_core::store::{
    ChainEnd, ChatQuery, LeaseClaim, MemoryFind, MemoryList, MemoryWrite, PageWalk, RoundQuery,
    SearchQuery, Window,
};
use context_core::trajectory::AgentRef;
use context_core::{CancelSignal, ChatRef, Error, MessageId, Store};
use context_store_sqlite::{SqliteConfig, SqliteStore};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection};

use crate::store_fixture::T;
use crate::upgrade::{REPORT, fill};

/// The size of a page of the file.
const PAGE: usize = 4096;
/// Far longer than any call takes, so only a call that never ends times out.
const HANG: Duration = Duration::from_secs(120);

/// Random numbers from a seed (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % end as u64) as usize
    }
}

/// Damages a file in one way and returns a description.
pub(crate) fn damage(file: &mut Vec<u8>, seed: u64) -> String {
    let mut numbers = Numbers(seed);
    let (length, pages) = (file.len(), file.len() / PAGE);
    match numbers.below(10) {
        0..4 => {
            let (at, bit) = (numbers.below(length), numbers.below(8));
            file[at] ^= 1 << bit;
            format!("bit {bit} of byte {at} flipped")
        }
        4..6 => {
            let (at, byte) = (numbers.below(length), numbers.below(256) as u8);
            file[at] = byte;
            format!("byte {at} is {byte}")
        }
        6 => {
            let (one, other) = (1 + numbers.below(pages - 1), 1 + numbers.below(pages - 1));
            let copy = file[one * PAGE..(one + 1) * PAGE].to_vec();
            file.copy_within(other * PAGE..(other + 1) * PAGE, one * PAGE);
            file[other * PAGE..(other + 1) * PAGE].copy_from_slice(&copy);
            format!("pages {one} and {other} swapped")
        }
        7 => {
            let (one, other) = (1 + numbers.below(pages - 1), 1 + numbers.below(pages - 1));
            file.copy_within(other * PAGE..(other + 1) * PAGE, one * PAGE);
            format!("page {one} is page {other}")
        }
        8 => {
            let page = 1 + numbers.below(pages - 1);
            file[page * PAGE..(page + 1) * PAGE].fill(0);
            format!("page {page} is zero")
        }
        _ => {
            let keep = numbers.below(length);
            file.truncate(keep);
            format!("cut after {keep} bytes")
        }
    }
}

/// Returns the answer of every reading call, by its name.
pub(crate) async fn readings(store: &SqliteStore) -> Vec<(String, Result<String, Error>)> {
    fn shown<T: Debug>(result: Result<T, Error>) -> Result<String, Error> {
        result.map(|value| format!("{value:?}"))
    }

    let mut all = Vec::new();
    macro_rules! read {
        ($name:expr, $call:expr) => {
            all.push(($name.to_string(), shown($call)))
        };
    }
    let (history, chat) = (store.history(), ChatRef::new("ada", "trip"));
    let maintenance = store.maintenance().unwrap();
    read!("users", maintenance.users(2, None).await);
    for user in ["Zoë", "ada", "bob", "nobody"] {
        read!(format!("list_chats {user}"), history.list_chats(&ChatQuery::new(user)).await);
        read!(
            format!("stats {user}"),
            store.memories().unwrap().memory_stats(&user.into(), 10, None).await
        );
    }
    for chat in [&chat, &ChatRef::new("ada", "empty"), &ChatRef::new("bob", "trip")] {
        read!(format!("chat {chat:?}"), history.chat(chat).await);
        read!(format!("branches {chat:?}"), history.branches(chat).await);
        read!(format!("checkpoints {chat:?}"), history.checkpoints(chat).await);
        read!(format!("fragments {chat:?}"), store.fragments().fragments(chat).await);
        read!(format!("ref_log {chat:?}"), store.ref_log().unwrap().ref_log(chat).await);
        let mut walk = PageWalk::new("all_messages", "message");
        let mut after = None;
        loop {
            let page = history.all_messages(chat, 50, after.as_ref()).await;
            let next = page.as_ref().ok().map(|page| walk.next(page));
            read!(format!("all_messages {chat:?} {after:?}"), page);
            match next {
                Some(Ok(Some(next))) => after = Some(next),
                _ => break,
            }
        }
    }
    let after = Window::After { message: "m80".into(), generation: 0 };
    let ends =
        ["main", "side", "twig", "mark", "other root"].map(|name| ChainEnd::Branch(name.into()));
    for end in ends.into_iter().chain([ChainEnd::Message("t1".into())]) {
        let whole = history.chain(&chat, &end, &Window::Whole).await;
        let generation = whole.as_ref().map_or(0, context_core::Chain::generation);
        let after = match &after {
            Window::After { message, .. } => Window::After { message: message.clone(), generation },
            other => other.clone(),
        };
        read!(
            format!("chain {end:?}"),
            whole.map(|chain| chain.iter().cloned().collect::<Vec<_>>())
        );
        for window in [Window::Last(7), Window::Boundary, Window::Tokens(200), after] {
            let chain = history.chain(&chat, &end, &window).await;
            let nodes =
                chain.map(|chain| (chain.skipped(), chain.iter().cloned().collect::<Vec<_>>()));
            read!(format!("chain {end:?} {window:?}"), nodes);
        }
    }
    let ids =
        ["m0", "m5", "m41", "s3", "s19", "t1", "k1", "r0", "cut", "nowhere"].map(MessageId::from);
    read!("messages", history.messages(&chat, &ids).await);
    for id in &ids {
        read!(format!("revisions {id}"), history.revisions(&chat, id).await);
        let trajectories = store.trajectories().unwrap();
        read!(
            format!("nodes_of_message {id}"),
            trajectories.nodes_of_message(&chat.user, &chat.chat, id).await
        );
    }
    let blobs = store.blobs().unwrap();
    read!("blobs", blobs.blobs(&chat, 10, None).await);
    let id = context_core::base::BlobId::of(REPORT);
    read!("blob", blobs.blob(&chat, &id).await);
    read!("read_blob", blobs.read_blob(&chat, &id, 0..u64::MAX, None).await);
    read!("read_blob part", blobs.read_blob(&chat, &id, 262_000..263_000, None).await);
    let streams = store.streams().unwrap();
    read!("streams", streams.streams(&chat, 10, None).await);
    read!("read_stream", streams.read_stream(&chat, &"early".into(), 0, 10).await);
    let trajectories = store.trajectories().unwrap();
    read!("rounds", trajectories.rounds(&RoundQuery::of_user("ada")).await);
    read!("load_rounds", trajectories.load_rounds(&AgentRef::main("ada", "early"), 0..=9).await);
    let memories = store.memories().unwrap();
    let scope = MemoryScope::new("ada");
    read!("list_memories", memories.list_memories(&MemoryList::new(vec![scope.clone()], 50)).await);
    let ids: Vec<_> = (0..4).map(|n| format!("f{n}").into()).collect();
    read!("memories", memories.memories(&scope, &ids).await);
    read!("memory_neighbours", memories.memory_neighbours(&scope, &ids[1..2], 2).await);
    let find =
        MemoryFind::new(vec![scope.clone()], vec!["porto".to_owned(), "seven".to_owned()], 10);
    read!(
        "find_memories",
        memories
            .find_memories(&find)
            .await
            .map(|found| { found.hits.into_iter().map(|hit| hit.stored).collect::<Vec<_>>() })
    );
    if let Some(search) = store.search() {
        // The message of a hit is compared. The set of hits depends on the index alone.
        let hits = search.search(&SearchQuery::new("ada", "text")).await;
        let known = |id: &MessageId| {
            ["m", "s", "t", "k", "r", "after"].iter().any(|p| id.as_str().starts_with(p))
        };
        read!("search", hits.map(|page| page.items.iter().all(|hit| known(&hit.message))));
    }
    all
}

/// Writes a file with data of every kind and returns its bytes.
pub(crate) async fn a_file(path: &Path) -> Vec<u8> {
    let store = SqliteStore::open(SqliteConfig::new(path)).await.unwrap();
    fill(&store).await;
    let scope = MemoryScope::new("ada");
    let writes: Vec<MemoryWrite> = (0..40)
        .map(|n| {
            let text = format!("Number {n} went to Porto by train.");
            let mut record = MemoryRecord::new(scope.clone(), format!("f{n}"), "episode", T, text);
            record.source = Some(MemorySource::session("monday"));
            let words = if n == 7 { "number seven porto" } else { "number porto" };
            let mut write = MemoryWrite::new(record, words);
            write.vector = Some(MemoryVector::new("model", vec![n as f32, 1.0, 2.0]));
            write
        })
        .collect();
    let _ = store.memories().unwrap().write_memories(&writes).await.unwrap();
    let (leases, claim) = (store.leases().unwrap(), LeaseClaim::new("worker", T, HANG));
    let _ = leases.take_lease(&ChatRef::new("ada", "trip"), &claim).await.unwrap();
    store.close().await.unwrap();
    std::fs::read(path).unwrap()
}

/// Writes the file and returns what an undamaged store reads from it.
pub(crate) async fn a_file_and_its_readings(
    path: &Path,
) -> (Vec<u8>, Vec<(String, Result<String, Error>)>) {
    let sound = a_file(path).await;
    let store = SqliteStore::open(SqliteConfig::new(path)).await.unwrap();
    let before = readings(&store).await;
    for (name, answer) in &before {
        assert!(answer.is_ok(), "{name}: {answer:?}");
    }
    store.close().await.unwrap();
    (sound, before)
}

/// The outcome of reading a damaged file.
pub(crate) enum Verdict {
    /// Every call answered as before.
    Unchanged,
    /// Some calls reported the damage, or the file could not be opened.
    Refused,
    /// A wrong answer, described in words.
    Wrong(String),
}

/// Reads a damaged file and compares the answers with those before the damage.
pub(crate) async fn judge(path: &Path, before: &[(String, Result<String, Error>)]) -> Verdict {
    let store = match SqliteStore::open(SqliteConfig::new(path).create(false)).await {
        Ok(store) => Arc::new(store),
        Err(_) => return Verdict::Refused,
    };
    let read = Arc::clone(&store);
    let reading = tokio::spawn(async move { tokio::time::timeout(HANG, readings(&read)).await });
    let after = match reading.await {
        Ok(Ok(after)) => after,
        Ok(Err(_)) => return Verdict::Wrong("reading never ends".to_owned()),
        Err(_) => return Verdict::Wrong("a panic".to_owned()),
    };
    let mut refused = None;
    for (name, answer) in &after {
        let Some((_, expected)) = before.iter().find(|(other, _)| other == name) else { continue };
        match (answer, expected) {
            (Ok(answer), Ok(expected)) if answer != expected => {
                return Verdict::Wrong(format!("{name} answers {answer}\ninstead of {expected}"));
            }
            (Err(error), Ok(_)) => refused = Some(format!("{name}: {error}")),
            _ => {}
        }
    }
    let Some(refused) = refused else { return Verdict::Unchanged };
    let never = CancelSignal::never();
    match tokio::time::timeout(HANG, store.maintenance().unwrap().check(&never)).await {
        Ok(Ok(report)) if report.findings.is_empty() => {
            Verdict::Wrong(format!("the check finds nothing, but {refused}"))
        }
        Ok(_) => Verdict::Refused,
        Err(_) => Verdict::Wrong("the check never ends".to_owned()),
    }
}

pub(crate) fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_file_answers_as_before_or_says_so_and_the_check_finds_it() {
    let folder = tempfile::tempdir().unwrap();
    let (sound, before) = a_file_and_its_readings(&folder.path().join("sound.db")).await;
    let (first, count) = (number("CONTEXT_DAMAGE_SEED", 1), number("CONTEXT_DAMAGED_FILES", 60));
    let (mut unchanged, mut refused, mut wrong) = (0, 0, Vec::new());
    for seed in first..first + count {
        let path = folder.path().join(format!("{seed}.db"));
        let mut file = sound.clone();
        let damage = damage(&mut file, seed);
        std::fs::write(&path, file).unwrap();
        match judge(&path, &before).await {
            Verdict::Unchanged => unchanged += 1,
            Verdict::Refused => refused += 1,
            Verdict::Wrong(problem) => {
                let problem: String = problem.chars().take(600).collect();
                println!("seed {seed}, {damage}: {problem}");
                wrong.push(format!("seed {seed}, {damage}: {problem}"));
            }
        }
        for end in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(folder.path().join(format!("{seed}.db{end}")));
        }
    }
    println!(
        "{count} damaged files: {unchanged} answer as before, {refused} say so, {} are wrong",
        wrong.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Regression: trees that lost entries, or that were swapped, led to incomplete answers: rounds
/// without edges, versions and messages, no rounds at all, facts that were not found.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tree_without_its_entries_or_with_those_of_another_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let (sound, before) = a_file_and_its_readings(&path).await;
    let mut file = SqliteConnectOptions::new().filename(&path).connect().await.unwrap();
    let trees = "SELECT name, rootpage FROM sqlite_schema WHERE rootpage > 0";
    let trees: Vec<(String, i64)> = sqlx::query_as(trees).fetch_all(&mut file).await.unwrap();
    file.close().await.unwrap();
    let page = |tree: &str| {
        let (_, root) = trees.iter().find(|(name, _)| name == tree).unwrap();
        usize::try_from(*root).unwrap() - 1
    };
    let mut damaged = Vec::new();
    for tree in [
        "trajectory_edge",
        "trajectory_version",
        "trajectory_message",
        "memory_of_key",
        "memory_of_kind",
    ] {
        let (mut file, at) = (sound.clone(), page(tree) * PAGE);
        // A leaf page without cells.
        file[at + 3..at + 5].fill(0);
        file[at + 5..at + 7].copy_from_slice(&u16::try_from(PAGE).unwrap().to_be_bytes());
        damaged.push((tree.to_owned(), file));
    }
    for (one, other) in [
        ("trajectory_round_of", "sqlite_autoindex_blob_1"),
        ("trajectory_edge", "sqlite_autoindex_chat_1"),
        ("trajectory_version", "sqlite_autoindex_trajectory_file_2"),
    ] {
        let mut file = sound.clone();
        let (at, to) = (page(one) * PAGE, page(other) * PAGE);
        file[at..at + PAGE].copy_from_slice(&sound[to..to + PAGE]);
        file[to..to + PAGE].copy_from_slice(&sound[at..at + PAGE]);
        damaged.push((format!("{one} and {other}"), file));
    }
    for (number, (name, file)) in damaged.into_iter().enumerate() {
        let path = folder.path().join(format!("{number}.db"));
        std::fs::write(&path, file).unwrap();
        if let Verdict::Wrong(problem) = judge(&path, &before).await {
            panic!("{name}: {problem}");
        }
    }
}

#[tokio::test]
async fn an_entry_of_an_index_that_is_out_of_order_hides_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (sound, before) = a_file_and_its_readings(&folder.path().join("sound.db")).await;
    let (mut files, mut wrong) = (0, Vec::new());
    for page in (1..sound.len() / PAGE).map(|page| page * PAGE) {
        // A leaf of an index, with at least as many entries as needed after its header of 8 bytes.
        let entries = usize::from(u16::from_be_bytes([sound[page + 3], sound[page + 4]]));
        if sound[page] != 10 || entries < 8 {
            continue;
        }
        let (one, other) = (page + 8, page + 8 + 2 * (entries / 2));
        let mut file = sound.clone();
        (0..2).for_each(|byte| file.swap(one + byte, other + byte));
        let path = folder.path().join(format!("{page}.db"));
        std::fs::write(&path, file).unwrap();
        files += 1;
        if let Verdict::Wrong(problem) = judge(&path, &before).await {
            wrong.push(format!(
                "page {}: {}",
                page / PAGE,
                problem.chars().take(300).collect::<String>()
            ));
        }
    }
    assert!(files > 4, "{files}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
