//! `cargo xtask bench history`: what appending to and loading a chat costs on SQLite, beside a floor that does
//! the same work with the bare library in the same run.
//!
//! The floor is rusqlite with cached statements in the calling thread, on the same bundled SQLite, with the same
//! pragmas. Rounds are paired: each round does ours and the floor one after the other, the ratio is taken
//! within the round, and the median over all rounds is printed, so a machine that slows down half-way does not
//! matter. Nothing here decides by absolute times.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program that measures, not a library")]

mod board;
mod floor;
mod ours;

use board::{Board, Row};
use floor::Floor;
use ours::Ours;

/// What was asked for on the command line.
struct Options {
    json: bool,
    check: bool,
    rounds: usize,
    only: Option<String>,
}

const PARTS: [&str; 3] = ["append", "load", "turn"];

const HELP: &str = "\
Measures appending to and loading a chat on SQLite beside a bare-library floor.

Usage: cargo xtask bench history [--json] [--check] [--rounds N] [--only PART]

  --json       print a JSON object per row instead of the table
  --check      exit with 1 when a ratio misses its target
  --rounds N   paired rounds per row (default 11); more for a noisy machine
  --only PART  one of append, load, turn";

fn options() -> Result<Options, String> {
    let mut options = Options { json: false, check: false, rounds: 11, only: None };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--json" => options.json = true,
            "--check" => options.check = true,
            "--rounds" => {
                let rounds = arguments.next().and_then(|n| n.parse().ok()).filter(|n| *n > 0);
                options.rounds = rounds.ok_or("--rounds takes a number from 1")?;
            }
            "--only" => {
                let part = arguments.next().filter(|part| PARTS.contains(&part.as_str()));
                options.only = Some(part.ok_or("--only takes one of append, load, turn")?);
            }
            // What cargo adds.
            "--bench" => {}
            "--help" | "-h" => return Err(HELP.to_owned()),
            other => return Err(format!("unknown argument {other:?}\n\n{HELP}")),
        }
    }
    Ok(options)
}

fn main() {
    let options = options().unwrap_or_else(|message| {
        println!("{message}");
        std::process::exit(2);
    });
    let folder = tempfile::tempdir().unwrap();
    // One thread: what is measured is the work, not how the host schedules it.
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut board = Board::new(options.json);
    runtime.block_on(async {
        let asked = |part| options.only.as_deref().is_none_or(|only| only == part);
        if asked("append") {
            append(&mut board, folder.path(), options.rounds).await;
        }
        if asked("load") {
            load(&mut board, folder.path(), options.rounds).await;
        }
        if asked("turn") {
            turn(&mut board, folder.path(), options.rounds).await;
        }
    });
    if board.finish() && options.check {
        std::process::exit(1);
    }
}

/// Appending one message and moving the head, at the end of a short and of a long chat.
async fn append(board: &mut Board, folder: &std::path::Path, rounds: usize) {
    const MESSAGES: usize = 256;
    for n in [100, 10_000] {
        let ours = Ours::create(&folder.join(format!("append-{n}.ours"))).await;
        let floor = Floor::create(&folder.join(format!("append-{n}.floor")));
        let mut head = ours.fill("chat", n).await;
        floor.fill_linked(n);
        ours.checkpoint();
        let mut row = Row::new("append", n, "us", Some(1.8)).skip_first(2);
        for round in 0..rounds + 2 {
            let first = n + round * MESSAGES;
            let nodes: Vec<_> = (first..first + MESSAGES).map(ours::node).collect();
            row.ours(MESSAGES, async {
                for node in &nodes {
                    head = ours.append("chat", &head, std::slice::from_ref(node)).await;
                }
            })
            .await;
            row.floor(MESSAGES, async { nodes.chunks(1).for_each(|one| floor.append(one)) }).await;
        }
        board.add(row);
        let mut row = Row::new("append two in one commit", n, "us", None).skip_first(1);
        for round in 0..rounds + 1 {
            let first = n + (rounds + 2 + round) * MESSAGES;
            let nodes: Vec<_> = (first..first + MESSAGES).map(ours::node).collect();
            row.ours(MESSAGES / 2, async {
                for pair in nodes.chunks(2) {
                    head = ours.append("chat", &head, pair).await;
                }
            })
            .await;
            row.floor(MESSAGES / 2, async { nodes.chunks(2).for_each(|pair| floor.append(pair)) }).await;
        }
        board.add(row);
        if n == 10_000 {
            let messages = n + (2 * rounds + 3) * MESSAGES;
            let (own, bare) = (ours.bytes(), floor.bytes());
            board.add(Row::sizes("bytes on disk per message", messages, own, bare));
        }
    }
}

/// Loading a whole chain from disk, and one that forks in the middle.
async fn load(board: &mut Board, folder: &std::path::Path, rounds: usize) {
    let ours = Ours::create(&folder.join("load.ours")).await;
    let floor = Floor::create(&folder.join("load.floor"));
    for (n, target) in [(100, 0.5), (1_000, 0.35), (10_000, 0.5)] {
        let chat = format!("chat-{n}");
        ours.fill_by_turns(&chat, n).await;
        floor.fill_segment(n);
        let repeat = (20_000 / n).clamp(2, 100);
        let mut row = Row::new("cold load", n, "us", Some(target)).skip_first(1);
        for _ in 0..rounds + 1 {
            row.ours(repeat, async {
                for _ in 0..repeat {
                    assert_eq!(std::hint::black_box(ours.load(&chat, "main").await).len(), n);
                }
            })
            .await;
            row.floor(repeat, async {
                for _ in 0..repeat {
                    assert_eq!(std::hint::black_box(floor.scan(n)).len(), n);
                }
            })
            .await;
        }
        board.add(row);
    }
    // The floor of a fork is the same chain without one.
    let n = 10_000;
    ours.fork_and_fill("chat-10000", n / 2, n).await;
    let mut row = Row::new("load a chain that forks half-way", n, "us", Some(1.2)).skip_first(1);
    for _ in 0..rounds + 1 {
        for fork in [true, false] {
            let work = async {
                for _ in 0..2 {
                    let branch = if fork { "main-v2" } else { "main" };
                    assert_eq!(std::hint::black_box(ours.load("chat-10000", branch).await).len(), n);
                }
            };
            if fork { row.ours(2, work).await } else { row.floor(2, work).await }
        }
    }
    board.add(row);
}

/// A turn of a warm engine: resolve, then save a question and an answer. Its floor is the same turn of a short
/// chat.
async fn turn(board: &mut Board, folder: &std::path::Path, rounds: usize) {
    const TURNS: usize = 20;
    let ours = Ours::create(&folder.join("turn.ours")).await;
    let mut row = Row::new("warm turn, against one at 100 messages", 10_000, "us", Some(1.2)).skip_first(1);
    for round in 0..rounds + 1 {
        for n in [10_000, 100] {
            let chat = format!("chat-{n}-{round}");
            ours.fill(&chat, n).await;
            let mut engine = ours.engine(&chat).await;
            ours.checkpoint();
            let work = async { ours::turns(&mut engine, TURNS).await };
            if n == 10_000 { row.ours(TURNS, work).await } else { row.floor(TURNS, work).await }
        }
    }
    board.add(row);
}
