//! `cargo xtask bench stores`: the cost of each backend, compared with a floor that does the same
//! work with the bare library on the same server in the same run.
//!
//! The floors: rusqlite with cached statements; tokio-postgres with prepared statements, inserting
//! and moving the head in one statement; bare Redis commands. A server works in its own process, so
//! rows are judged by wall time, and the CPU time of this process is printed as well. Rounds are
//! paired; the ratio is taken within a round.
//!
//! It does not compare durability settings, and does not measure network latency. Both sides use
//! the same connection type.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program that measures, not a library"
)]

mod append;
mod backend;
#[path = "../shared/bare_servers.rs"]
mod bare_servers;
#[path = "../shared/board.rs"]
mod board;
#[path = "../shared/data.rs"]
mod data;
mod floor;
#[allow(dead_code, reason = "not every program does all of it")]
#[path = "../shared/library_store.rs"]
mod library_store;
mod load;
#[path = "../shared/options.rs"]
mod options;
mod search;
mod turn;

use backend::Backend;
use board::Board;
use options::Options;

const HELP: &str = "\
Measures the stores beside their bare libraries, by wall time.

Usage: cargo xtask bench stores [--json] [--check] [--rounds N] [--only BACKEND]... [--case TEXT]

  --json          print a JSON object per row instead of the table
  --check         exit with 1 when a ratio misses its target
  --rounds N      paired rounds per row (default 11); more for a noisy machine
  --only BACKEND  sqlite, postgres or redis; may be given several times
  --case TEXT     only rows whose name contains this: append, batch, load, turn, search

PostgreSQL and Redis are started by `cargo xtask`, or named in CONTEXT_TEST_POSTGRES_URL and CONTEXT_TEST_REDIS_URL; what is not
there is left out, and said to be.";

/// State shared by all parts.
struct Bench {
    board: Board,
    options: Options,
}

fn main() {
    let options = Options::read(HELP, 11, &backend::NAMES);
    // One thread, so that the work is measured and not the scheduling of the host.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let check = options.check;
    let mut bench = Bench { board: Board::by_wall("stores", options.json), options };
    runtime.block_on(async {
        for name in backend::NAMES {
            if !bench.options.wants(name) {
                continue;
            }
            match Backend::new(name) {
                Ok(backend) => measure(&mut bench, &backend).await,
                Err(variable) => {
                    bench.board.note(&format!("{name}: left out, {variable} is not set"))
                }
            }
        }
    });
    if bench.board.finish() && check {
        std::process::exit(1);
    }
}

async fn measure(bench: &mut Bench, backend: &Backend) {
    append::one(bench, backend).await;
    append::batch(bench, backend).await;
    load::whole(bench, backend).await;
    turn::warm(bench, backend).await;
    search::in_a_chat(bench, backend).await;
    backend.clear().await;
}
