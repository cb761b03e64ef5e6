//! The memory of a message in the cache of chains. Measured in a separate process, as its anonymous
//! memory: allocations need not be counted, and memory that was freed before does not hide new
//! allocations.

use std::path::Path;
use std::process::{Command, Stdio};

use context_runtime::{ChainCache, store::Window};

use crate::bench::Bench;
use crate::board::Row;
use crate::file_store::{FileStore, chat};

/// The flag that makes this program measure instead: `--held PATH CHATS MESSAGES`. A fifth argument
/// says to read the messages.
pub(crate) const HELD: &str = "--held";
/// The argument that says to read the messages.
pub(crate) const READ: &str = "read";

/// The maximum memory of a message of 400 bytes.
const LIMIT: u64 = 1024;

pub(crate) async fn held(bench: &mut Bench) {
    let messages = 10_000.min(bench.max);
    let chats = 10;
    let path = bench.path("memory.ours");
    let ours = FileStore::create(&path, false).await;
    for i in 0..=chats {
        ours.fill_by_turns(&chat(i), messages).await;
    }
    ours.checkpoint();
    drop(ours);
    let n = chats * messages;
    for (case, read) in [
        ("memory of a cached message, against 1 KiB", None),
        ("memory of a cached message, once read", Some(READ)),
    ] {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg(HELD).arg(&path).args([chats.to_string(), messages.to_string()]).args(read);
        let output = command.stderr(Stdio::inherit()).output().unwrap();
        let Ok(held) = String::from_utf8(output.stdout).unwrap().trim().parse::<u64>() else {
            bench.board.note("memory is not measured here: the system has no /proc/self/status");
            return;
        };
        bench.board.add(Row::sizes(case, n, held, LIMIT * n as u64).with_target(1.0));
    }
}

/// Prints how many bytes the cached messages take.
///
/// If they are read, then each chat before the next one is loaded: the store's threads allocate
/// what a load returns, and the allocator keeps what is released for the next allocations of these
/// threads.
pub(crate) async fn measure(path: &Path, chats: usize, messages: usize, read: bool) {
    let ours = FileStore::reopen(path).await;
    let cache = ChainCache::new(ours.store().clone(), 1 << 40);
    // Excludes what the first read of a store allocates.
    for _ in 0..8 {
        let _warm = ours.load(&chat(chats), "main", &Window::Last(64)).await;
    }
    let Some(before) = anonymous() else { return };
    let mut chains = Vec::new();
    for i in 0..chats {
        let mut engine = ours.engine(&chat(i)).cache(&cache).open().await.unwrap();
        let chain = engine.resolve().await.unwrap().messages;
        assert_eq!(chain.len(), messages);
        if read {
            for node in chain.iter() {
                std::hint::black_box(node.message().unwrap());
            }
        }
        chains.push(chain);
    }
    let Some(held) = anonymous() else { return };
    assert!(cache.bytes() > 0, "the cache holds what is measured");
    println!("{}", held.saturating_sub(before));
}

/// Returns the anonymous memory of this process.
fn anonymous() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}
