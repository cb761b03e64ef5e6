//! `cargo xtask bench runtime`: the cost of preparing a call, the cost of policies, and their
//! savings.
//!
//! Times are compared with floors that only look at the same messages. In a cold run messages are
//! seen for the first time and all are counted: the floor is our own counter, called once on the
//! same messages. In a warm run their counts are known: the floor is one pass that adds them up.
//! What new messages cost in a long conversation is compared with the same in one of a thousand. No
//! result depends on absolute times.
//!
//! Quality is measured on recorded conversations: what sets of policies cost and keep, ours and
//! those of other agents.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program that measures, not a library"
)]

#[path = "../shared/board.rs"]
mod board;
mod data;
mod growth;
#[path = "../shared/options.rs"]
mod options;
mod pipeline;
mod policies;
mod prepare;
mod quality;
#[path = "../shared/sheet.rs"]
mod sheet;
mod turn;

use std::hint::black_box;

use board::Board;
use options::Options;
use sheet::Sheet;

const HELP: &str = "\
Measures the preparation of model calls and the policies of compaction beside floors that look at the same messages,
and what sets of policies cost and keep of recorded conversations.

Usage: cargo xtask bench runtime [--json] [--check] [--rounds N] [--quality] [--only PART]... [--case TEXT]

  --json         print a JSON object per row instead of the tables
  --check        exit with 1 when a row misses its target
  --rounds N     paired rounds per row (default 11); more for a noisy machine
  --quality      only quality, and all of it: conversations of up to a million tokens, all windows; takes
                 minutes. Without it, quality is measured on shorter ones
  --only PART    one of prepare, growth, policies, pipeline, turn, quality; may be repeated
  --case TEXT    only the rows with this in their name

On a noisy machine pin it to a processor: taskset -c 1 cargo xtask bench runtime";

const AREA: &str = "runtime";
const QUALITY: &str = "quality";
const PARTS: [&str; 6] = ["prepare", "growth", "policies", "pipeline", "turn", QUALITY];

fn main() {
    // See `settle_allocator` of the history benchmark: otherwise page faults dominate the
    // measurement.
    drop(black_box(vec![1u8; 24 << 20]));
    let options = Options::read(HELP, 11, &PARTS);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let missed = runtime.block_on(measure(&options));
    if missed && options.check {
        std::process::exit(1);
    }
}

/// Runs the selected measurements. Returns whether a target was missed.
async fn measure(options: &Options) -> bool {
    let mut missed = false;
    if PARTS.iter().any(|part| *part != QUALITY && options.wants(part)) {
        let mut board = Board::new(AREA, options.json);
        if options.wants("prepare") {
            prepare::measure(&mut board, options).await;
        }
        if options.wants("growth") {
            growth::measure(&mut board, options).await;
        }
        if options.wants("policies") {
            policies::measure(&mut board, options).await;
        }
        if options.wants("pipeline") {
            pipeline::measure(&mut board, options).await;
        }
        if options.wants("turn") {
            turn::measure(&mut board, options).await;
        }
        missed = board.finish();
    }
    if options.wants(QUALITY) {
        let mut sheet = Sheet::new(AREA, options.json);
        quality::measure(&mut sheet, options).await;
        missed |= sheet.finish();
    }
    missed
}
