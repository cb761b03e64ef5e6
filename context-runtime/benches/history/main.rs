//! `cargo xtask bench history`: the cost of chat history on SQLite, compared with a floor that does
//! the same work with the bare library in the same run.
//!
//! The floor is rusqlite with cached statements in the calling thread, on the same bundled SQLite,
//! with the same pragmas. Rounds are paired: each runs ours and the floor one after the other, the
//! ratio is taken within the round, and the median over all rounds is printed, so a machine that
//! slows down half-way does not matter. No result depends on absolute times.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program that measures, not a library"
)]

mod append;
mod bench;
#[path = "../shared/board.rs"]
mod board;
mod body;
mod chats;
#[path = "../shared/data.rs"]
mod data;
mod file_store;
mod floor;
#[path = "../shared/library_store.rs"]
mod library_store;
mod load;
mod memory;
mod search;
mod turn;

use bench::Bench;
use board::Board;

/// The parsed command line.
struct Options {
    json: bool,
    check: bool,
    rounds: usize,
    max: usize,
    only: Vec<String>,
}

const PARTS: [&str; 16] = [
    "append",
    "text",
    "together",
    "load",
    "read",
    "body",
    "window",
    "fork",
    "turn",
    "shared",
    "compacted",
    "search",
    "others",
    "delete",
    "list",
    "memory",
];

const HELP: &str = "\
Measures the history of chats on SQLite beside a bare-library floor.

Usage: cargo xtask bench history [--json] [--check] [--rounds N] [--max N] [--only PART]...

  --json       print a JSON object per row instead of the table
  --check      exit with 1 when a ratio misses its target
  --rounds N   paired rounds per row (default 11); more for a noisy machine
  --max N      the longest chat and the largest store, in messages (default 1000000, at least 1000)
  --only PART  append, text (append with full text), together (16 appends at once), load, read (loads
               that make every message an object), body (from the file to the body of a request),
               window (ends of long chains), fork, turn, shared (turns of new engines over one
               cache), compacted (first turns of new engines on compacted chats), search, others
               (search in a store of others), delete, list, memory; may be given several times

On a noisy machine pin it to a processor: taskset -c 1 cargo xtask bench history";

fn options() -> Result<Options, String> {
    let mut options =
        Options { json: false, check: false, rounds: 11, max: 1_000_000, only: Vec::new() };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = |least: usize| {
            let number = arguments.next().and_then(|n| n.parse().ok()).filter(|n| *n >= least);
            number.ok_or_else(|| format!("{argument} takes a number from {least}"))
        };
        match argument.as_str() {
            "--json" => options.json = true,
            "--check" => options.check = true,
            "--rounds" => options.rounds = number(1)?,
            "--max" => options.max = number(1_000)?,
            "--only" => {
                let part = arguments.next().filter(|part| PARTS.contains(&part.as_str()));
                options
                    .only
                    .push(part.ok_or_else(|| format!("--only takes one of {}", PARTS.join(", ")))?);
            }
            // Added by cargo.
            "--bench" => {}
            "--help" | "-h" => {
                println!("{HELP}");
                std::process::exit(0);
            }
            other => return Err(format!("unknown argument {other:?}\n\n{HELP}")),
        }
    }
    Ok(options)
}

/// Makes the allocator keep freed memory, as in a program that has run for a while: freeing a large
/// first block raises the size from which glibc returns memory to the system. Otherwise a load may
/// return its memory and request it again each time, depending on where its blocks lie, and page
/// faults dominate the measurement on both sides.
fn settle_allocator() {
    drop(std::hint::black_box(vec![1u8; 24 << 20]));
}

fn main() {
    settle_allocator();
    // One thread, so that the work is measured and not the scheduling of the host.
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, path, chats, messages, read @ ..] = arguments.as_slice()
        && flag == memory::HELD
    {
        let (chats, messages) = (chats.parse().unwrap(), messages.parse().unwrap());
        let is_read = read.iter().any(|argument| argument == memory::READ);
        return runtime.block_on(memory::measure(path.as_ref(), chats, messages, is_read));
    }
    let options = options().unwrap_or_else(|message| {
        println!("{message}");
        std::process::exit(2);
    });
    let folder = tempfile::tempdir().unwrap();
    let (board, folder_path) = (Board::new("history", options.json), folder.path().to_owned());
    let mut bench = Bench { board, folder: folder_path, rounds: options.rounds, max: options.max };
    for part in PARTS {
        if options.only.is_empty() || options.only.iter().any(|only| only == part) {
            runtime.block_on(run(part, &mut bench));
        }
    }
    let missed = bench.board.finish();
    // `exit` would leave it behind.
    drop(folder);
    if missed && options.check {
        std::process::exit(1);
    }
}

async fn run(part: &str, bench: &mut Bench) {
    match part {
        "append" => append::append(bench, false).await,
        "text" => append::append(bench, true).await,
        "together" => append::together(bench).await,
        "load" => load::whole(bench).await,
        "read" => load::read(bench).await,
        "body" => body::cold(bench).await,
        "window" => load::window(bench).await,
        "fork" => load::fork(bench).await,
        "turn" => turn::warm(bench).await,
        "shared" => turn::shared(bench).await,
        "compacted" => turn::compacted(bench).await,
        "search" => search::one_chat(bench).await,
        "others" => search::among_others(bench).await,
        "delete" => chats::delete(bench).await,
        "list" => chats::list(bench).await,
        _ => memory::held(bench).await,
    }
}
