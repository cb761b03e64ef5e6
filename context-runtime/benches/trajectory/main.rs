//! `cargo xtask bench trajectory`: the cost of a run's graph in memory, on SQLite and during
//! recording, compared with floors that do the same work with plain collections or the bare
//! library.
//!
//! A round is a question, followed by repeated groups of a conclusion, an action and a file. The
//! output of each action is changed once, to 400 characters. No result depends on absolute times.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program that measures, not a library"
)]

#[path = "../shared/board.rs"]
mod board;
mod data;
mod floor;
mod graph;
mod memory;
#[path = "../shared/options.rs"]
mod options;
mod record;
mod restore;

use std::path::PathBuf;

use board::Board;
use options::Options;

const PARTS: [&str; 7] = ["add", "restore", "end", "prune", "persist", "record", "memory"];

const HELP: &str = "\
Measures trajectories beside plain collections and the bare library.

Usage: cargo xtask bench trajectory [--json] [--check] [--rounds N] [--only PART]... [--case TEXT]

  --json       print a JSON object per row instead of the table
  --check      exit with 1 when a ratio misses its target
  --rounds N   paired rounds per row (default 11); more for a noisy machine
  --only PART  add, restore (from SQLite, and bridge), end (a million nodes, opened at their end), prune, persist
               (whole rounds on SQLite), record (node by node, and turn by turn), memory; may be given several times
  --case TEXT  only the rows with this in their name

On a noisy machine pin it to a processor: taskset -c 1 cargo xtask bench trajectory";

/// State shared by all parts.
pub(crate) struct Bench {
    pub(crate) board: Board,
    pub(crate) options: Options,
    folder: PathBuf,
}

impl Bench {
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

fn main() {
    // See `settle_allocator` of the history benchmark: otherwise page faults dominate the
    // measurement.
    drop(std::hint::black_box(vec![1u8; 24 << 20]));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, what, n] = arguments.as_slice()
        && flag == memory::HELD
    {
        return runtime.block_on(memory::measure(what, n.parse().unwrap()));
    }
    let options = Options::read(HELP, 11, &PARTS);
    let folder = tempfile::tempdir().unwrap();
    let board = Board::new("trajectory", options.json);
    let mut bench = Bench { board, options, folder: folder.path().to_owned() };
    for part in PARTS {
        if bench.options.wants(part) {
            runtime.block_on(run(part, &mut bench));
        }
    }
    let check = bench.options.check;
    let missed = bench.board.finish();
    // `exit` would leave it behind.
    drop(folder);
    if missed && check {
        std::process::exit(1);
    }
}

async fn run(part: &str, bench: &mut Bench) {
    match part {
        "add" => graph::add(bench).await,
        "restore" => restore::restore(bench).await,
        "end" => restore::end(bench).await,
        "prune" => graph::prune(bench).await,
        "persist" => record::persist(bench).await,
        "record" => {
            record::record(bench).await;
            record::turns(bench).await;
        }
        _ => memory::held(bench),
    }
}
