//! `cargo xtask bench graft`: one busy chat. Sixteen engines save to one branch at the same time,
//! and each save is grafted behind those of the others.
//!
//! Nobody may be refused, all must get in about equally often, and the slowest saves must not wait
//! much longer than the usual ones. These are ratios within a run, so they are judged; the turns in
//! a second are those of the machine.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program that measures, not a library"
)]

#[path = "../shared/options.rs"]
mod options;
#[path = "../shared/sheet.rs"]
mod sheet;

use std::sync::Arc;
use std::time::{Duration, Instant};

use context_runtime::{ContextEngine, Store, assistant, user};
use options::Options;
use sheet::{Metric, Sheet};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

const HELP: &str = "\
Measures engines that save to one branch at the same time.

Usage: cargo xtask bench graft [--json] [--check] [--rounds N] [--only STORE]...

  --json        print a JSON object per number instead of the tables
  --check       exit with 1 when a target is missed
  --rounds N    seconds per store (default 3)
  --only STORE  inmem, sqlite, postgres or redis; may be given several times

PostgreSQL and Redis are started by `cargo xtask`, or named in CONTEXT_TEST_POSTGRES_URL and CONTEXT_TEST_REDIS_URL; what is not
there is left out, and said to be.";

const STORES: [&str; 4] = ["inmem", "sqlite", "postgres", "redis"];
const ENGINES: usize = 16;

fn main() {
    let options = Options::read(HELP, 3, &STORES);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let check = options.check;
    let mut sheet = Sheet::new("graft", options.json);
    sheet.begin("One branch, 16 engines");
    runtime.block_on(async {
        for name in STORES.into_iter().filter(|name| options.wants(name)) {
            let folder = tempfile::tempdir().unwrap();
            match url(name, folder.path()) {
                Ok(url) => measure(&mut sheet, &options, name, &url).await,
                Err(variable) => sheet.note(&format!("{name}: left out, {variable} is not set")),
            }
        }
    });
    if sheet.finish() && check {
        std::process::exit(1);
    }
}

/// Returns the address of an empty store, or the variable that must hold the server's.
fn url(name: &str, folder: &std::path::Path) -> Result<String, &'static str> {
    let place = format!("graft_{}", std::process::id());
    let server = |variable, setting: &str| {
        let url = std::env::var(variable).map_err(|_| variable)?;
        let sign = if url.contains('?') { '&' } else { '?' };
        Ok(format!("{url}{sign}{setting}"))
    };
    match name {
        "inmem" => Ok("mem:".to_owned()),
        "sqlite" => Ok(format!("sqlite:{}", folder.join("chats.db").display())),
        "postgres" => server("CONTEXT_TEST_POSTGRES_URL", &format!("schema={place}")),
        _ => server("CONTEXT_TEST_REDIS_URL", &format!("prefix={place}:")),
    }
}

/// The turns of one engine.
#[derive(Default)]
struct Turns {
    saves: Vec<Duration>,
    refused: usize,
}

async fn measure(sheet: &mut Sheet, options: &Options, name: &'static str, url: &str) {
    let store = context_runtime::open(url).await.unwrap();
    // The first turns open connections and prepare statements.
    run(&store, "warm", Duration::from_millis(300)).await;
    let time = Duration::from_secs(options.rounds as u64);
    let done = run(&store, "busy", time).await;
    for chat in ["warm", "busy"] {
        let chat = context_runtime::ChatRef::new("ada", chat);
        let _gone = store.history().delete_chat(&chat, None).await.unwrap();
    }

    let counts: Vec<usize> = done.iter().map(|turns| turns.saves.len()).collect();
    let total: usize = counts.iter().sum();
    let refused: usize = done.iter().map(|turns| turns.refused).sum();
    let mut saves: Vec<Duration> = done.into_iter().flat_map(|turns| turns.saves).collect();
    saves.sort_unstable();
    let at = |part: usize| saves[(saves.len() - 1) * part / 1000].as_secs_f64() * 1e3;
    let mean = total as f64 / ENGINES as f64;
    let (min, max) = (*counts.iter().min().unwrap(), *counts.iter().max().unwrap());
    let apart = (max as f64 / mean).max(mean / (min as f64).max(0.1));
    sheet.add(
        name,
        "one branch",
        &[
            Metric::new("turns/s", total as f64 / time.as_secs_f64(), 0.0),
            Metric::new("refused", refused as f64, 0.0).at_most(0.0),
            Metric::new("fewest saves", min as f64, mean),
            Metric::new("mean", mean, mean),
            Metric::new("most", max as f64, mean),
            Metric::new("furthest from the mean, times", apart, 1.0).at_most(2.0),
            Metric::new("median, ms", at(500), 0.0),
            Metric::new("p99, ms", at(990), at(500)),
            Metric::new("p99, medians", at(990) / at(500), 1.0).at_most(10.0),
            Metric::new("slowest, ms", at(1000), at(500)),
        ],
    );
}

/// Lets engines take turns on one branch for this long, all from the same moment on.
async fn run(store: &Arc<dyn Store>, chat: &'static str, time: Duration) -> Vec<Turns> {
    // The chat is there before they begin.
    let mut first = engine(store, chat).await;
    first.set([user("We are all in this chat.")]).save().await.unwrap();
    let barrier = Arc::new(Barrier::new(ENGINES));
    let mut tasks = JoinSet::new();
    for _ in 0..ENGINES {
        let (store, barrier) = (Arc::clone(store), Arc::clone(&barrier));
        tasks.spawn(async move {
            let mut engine = engine(&store, chat).await;
            let mut turns = Turns::default();
            barrier.wait().await;
            let end = Instant::now() + time;
            while Instant::now() < end {
                engine.set([user("What does the night train cost?")]);
                std::hint::black_box(engine.resolve().await.unwrap());
                engine.set([assistant("Eighty-nine euros, a berth included.")]);
                let start = Instant::now();
                match engine.save().await {
                    Ok(_) => turns.saves.push(start.elapsed()),
                    Err(_) => turns.refused += 1,
                }
            }
            turns
        });
    }
    tasks.join_all().await
}

async fn engine(store: &Arc<dyn Store>, chat: &str) -> ContextEngine {
    let builder = ContextEngine::builder(Arc::clone(store));
    builder.user("ada").chat(chat).open().await.unwrap()
}
