//! A process is killed between capture and flush: acknowledged captures are stored once, and
//! capturing everything again loses nothing.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use context_runtime::memory::{EPISODE, episodic};
use context_runtime::{
    CancelSignal, Message, Role, Store, Timestamp,
    memory::{CapturedMessage, CapturedTurn, MemoryProvider, MemoryScope},
    store::MemoryList,
};
use context_store_sqlite::SqliteConfig;

const FILE: &str = "CONTEXT_TEST_MEMORY_FILE";
const TURNS: usize = 400;

fn turn(at: usize) -> CapturedTurn {
    let said = |number: usize| {
        let message = Message::text(Role::User, format!("message number {number}"));
        CapturedMessage::new(format!("m{number}"), message)
    };
    let scope = MemoryScope::new("ada").session("s");
    CapturedTurn::new(
        scope,
        format!("t{at}"),
        Timestamp::from_micros(at as i64),
        vec![said(2 * at), said(2 * at + 1)],
    )
}

async fn open(file: &Path) -> Arc<dyn Store> {
    Arc::new(context_store_sqlite::SqliteStore::open(SqliteConfig::new(file)).await.unwrap())
}

/// The child: captures turn after turn, and prints which are stored. Does nothing unless it is
/// started as a child.
#[test]
fn child() {
    let Some(file) = std::env::var_os(FILE) else { return };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let store = open(Path::new(&file)).await;
        let memory = episodic(&store).unwrap();
        for at in 0..TURNS {
            memory.capture(&turn(at), &CancelSignal::never()).await.unwrap();
            if at % 5 == 4 {
                memory.flush(&CancelSignal::never()).await.unwrap();
                let mut out = std::io::stdout();
                writeln!(out, "\nkept {at}").unwrap();
                out.flush().unwrap();
            }
        }
    });
}

async fn counts(store: &dyn Store) -> BTreeMap<String, usize> {
    let records = store.memories().unwrap();
    let mut list = MemoryList::new(vec![MemoryScope::new("ada")], 1_000).kind(EPISODE);
    let mut counts = BTreeMap::new();
    loop {
        let page = records.list_memories(&list).await.unwrap();
        for stored in page.items {
            let message = stored.record.source.unwrap().message.unwrap();
            *counts.entry(message.to_string()).or_default() += 1;
        }
        let Some(next) = page.next else { return counts };
        list.after = Some(next);
    }
}

#[test]
fn what_was_acknowledged_outlives_the_process_and_telling_again_completes_it() {
    for kills in [1, 4, 9] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("memory.db");
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["process_kill::child", "--exact", "--nocapture"])
            .env(FILE, &file)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let kept =
            lines.filter_map(|line| line.unwrap().strip_prefix("kept ")?.parse::<usize>().ok());
        let last = kept.take(kills).last();
        child.kill().unwrap();
        child.wait().unwrap();
        let last = last.unwrap();

        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let store = open(&file).await;
            let found = counts(&*store).await;
            let acknowledged = (0..=2 * last + 1).map(|number| format!("m{number}"));
            for message in acknowledged {
                assert_eq!(
                    found.get(&message),
                    Some(&1),
                    "{message} was acknowledged before {last}"
                );
            }
            // The next process knows nothing of that, and captures the session from its beginning.
            let memory = episodic(&store).unwrap();
            for at in 0..TURNS {
                memory.capture(&turn(at), &CancelSignal::never()).await.unwrap();
            }
            memory.flush(&CancelSignal::never()).await.unwrap();
            let found = counts(&*store).await;
            assert_eq!(found.len(), 2 * TURNS);
            assert!(found.values().all(|count| *count == 1), "something was kept twice");
            let check = store.maintenance().unwrap().check(&CancelSignal::never()).await.unwrap();
            assert_eq!(check.findings, []);
        });
    }
}
