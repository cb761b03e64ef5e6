//! `cargo xtask bench render`: the cost of prompts in each format, compared with a floor that only
//! copies the same bytes.
//!
//! Costs are CPU time per node of the tree, where a node is a fragment, an item or an entry. The
//! row of one changed fragment compares a resolve of an engine in which one of the fragments was
//! replaced with a complete rendering. No result depends on absolute times.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program that measures, not a library"
)]

#[path = "../shared/board.rs"]
mod board;
mod data;
#[path = "../shared/options.rs"]
mod options;

use std::hint::black_box;
use std::sync::Arc;

use board::{Board, Row};
use context_runtime::{ContextEngine, FORMATS, Fragment, RenderOptions, Renderer, hint, renderer};
use options::Options;

const HELP: &str = "\
Measures the rendering of prompts beside a floor that only copies the same bytes.

Usage: cargo xtask bench render [--json] [--check] [--rounds N] [--only FORMAT]... [--case TEXT]

  --json         print a JSON object per row instead of the table
  --check        exit with 1 when a ratio misses its target
  --rounds N     paired rounds per row (default 21); more for a noisy machine
  --only FORMAT  xml, markdown, toml or toon; may be given several times
  --case TEXT    only the rows with this in their name

On a noisy machine pin it to a processor: taskset -c 1 cargo xtask bench render";

const ONE_CHANGED: &str = "one of 1,000 changed, against all";

/// A set of fragments, and how often it is rendered per round.
struct Case {
    name: &'static str,
    fragments: fn() -> Vec<Fragment>,
    times: usize,
}

fn main() {
    // See `settle_allocator` of the history benchmark: otherwise page faults dominate the
    // measurement.
    drop(black_box(vec![1u8; 24 << 20]));
    let options = Options::read(HELP, 21, FORMATS);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut board = Board::new("render", options.json);
    let cases = [
        Case { name: "1,000 hints", fragments: || data::hints(1_000), times: 40 },
        Case { name: "1,000 mixed fragments", fragments: || data::mixed(1_000), times: 20 },
        Case { name: "1 M nodes", fragments: || data::wide(1_000_000), times: 1 },
        Case { name: "10,000 levels", fragments: || data::deep(10_000), times: 10 },
    ];
    for format in FORMATS.iter().copied() {
        if options.wants(format) {
            let renderer = renderer(format, RenderOptions::new()).unwrap();
            for case in cases.iter().filter(|case| options.has(case.name)) {
                runtime.block_on(whole(&mut board, &*renderer, case, options.rounds));
            }
            if options.has(ONE_CHANGED) {
                runtime.block_on(one_changed(&mut board, renderer, options.rounds));
            }
        }
    }
    if board.finish() && options.check {
        std::process::exit(1);
    }
}

/// Returns a label that lives as long as the row.
fn label(format: &str, case: &str) -> &'static str {
    Box::leak(format!("{format}: {case}").into_boxed_str())
}

async fn whole(board: &mut Board, renderer: &dyn Renderer, case: &Case, rounds: usize) {
    let fragments = (case.fragments)();
    let nodes = data::nodes(&fragments);
    let text = renderer.render(&fragments).unwrap();
    let mut row = Row::new(label(renderer.name(), case.name), nodes, "ns", None).skip_first(1);
    for _ in 0..rounds.min(if nodes > 100_000 { 7 } else { rounds }) + 1 {
        row.ours(nodes * case.times, async {
            for _ in 0..case.times {
                black_box(renderer.render(black_box(&fragments)).unwrap());
            }
        })
        .await;
        row.floor(nodes * case.times, async {
            for _ in 0..case.times {
                black_box(String::from(black_box(text.as_str())));
            }
        })
        .await;
    }
    board.add(row);
}

/// Resolves after one of a thousand fragments was replaced, compared with rendering all of them.
async fn one_changed(board: &mut Board, renderer: Arc<dyn Renderer>, rounds: usize) {
    const TIMES: usize = 20;
    let store = context_runtime::open("mem:").await.unwrap();
    let builder =
        ContextEngine::builder(store).user("u").chat("c").shared_renderer(Arc::clone(&renderer));
    let mut engine = builder.open().await.unwrap();
    let mut fragments = data::mixed(1_000);
    fragments[500] = hint("changing").with_id("changing");
    engine.set(fragments.iter().cloned());
    engine.resolve().await.unwrap();
    let name = label(renderer.name(), ONE_CHANGED);
    let mut row = Row::new(name, 1_000, "us", Some(0.1)).skip_first(1);
    for round in 0..=rounds {
        row.ours(TIMES, async {
            for time in 0..TIMES {
                engine.set([hint(format!("changed {round} {time}")).with_id("changing")]);
                black_box(engine.resolve().await.unwrap());
            }
        })
        .await;
        row.floor(TIMES, async {
            for _ in 0..TIMES {
                black_box(renderer.render(black_box(&fragments)).unwrap());
            }
        })
        .await;
    }
    board.add(row);
}
