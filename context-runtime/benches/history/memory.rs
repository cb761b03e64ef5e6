//! The memory of a message in the cache of chains. Measured in a separate process, as its anonymous
//! memory: allocations need not be counted, and memory that was freed before does not hide new
//! allocations.

use std::path::Path;
use std::process::{Command, Stdio};

use context_runtime::{ChainCache, store::Window};

use crate::bench::Bench;
use crate::board::Row;
use crate::file_store::{FileStore, chat};

/// The flag that makes this program measure instead: `--held PATH CHATS MESSAGES`.
pub(crate) const HELD: &str = "--held";

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
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new(program);
    command
        .arg(HELD)
        .arg(&path)
        .args([chats.to_string(), messages.to_string()])
        .stderr(Stdio::inherit());
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let Some((kept, read)) = text.trim().split_once(' ') else {
        bench.board.note("memory is not measured here: the system has no /proc/self/status");
        return;
    };
    let n = chats * messages;
    let held = |bytes: &str| bytes.parse::<u64>().unwrap();
    let row = |case, bytes| Row::sizes(case, n, held(bytes), LIMIT * n as u64).with_target(1.0);
    bench.board.add(row("memory of a cached message, against 1 KiB", kept));
    bench.board.add(row("memory of a cached message, once read", read));
}

/// Prints how many bytes the cached messages take, before and after each was read.
pub(crate) async fn measure(path: &Path, chats: usize, messages: usize) {
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
        chains.push(engine.resolve().await.unwrap().messages);
    }
    assert!(chains.iter().all(|chain| chain.len() == messages));
    let Some(kept) = anonymous() else { return };
    for node in chains.iter().flat_map(|chain| chain.iter()) {
        std::hint::black_box(node.message().unwrap());
    }
    let Some(read) = anonymous() else { return };
    assert!(cache.bytes() > 0, "the cache holds what is measured");
    println!("{} {}", kept.saturating_sub(before), read.saturating_sub(before));
}

/// Returns the anonymous memory of this process.
fn anonymous() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}
