//! `cargo xtask bench runtime`: what preparing a call costs, beside floors that only look at the same messages.
//!
//! Cold, a runtime sees a history for the first time and counts all of it: the floor is the tokenizer we use ourselves, called once on
//! the same texts. Warm, one message is new: the floor is one pass over the messages that adds up counts that are known already, so
//! that a ratio below one means that not even that was done. Nothing here decides by absolute times.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program that measures, not a library")]

#[path = "../shared/board.rs"]
mod board;
#[path = "../shared/options.rs"]
mod options;

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use board::{Board, Row};
use context_runtime::tokens::{CachedCounter, ModelCounter, TokenCounter};
use context_runtime::{
    ContextRuntime, DefaultContextRuntime, FunctionTool, Message, Part, PrepareInput, Role, Tool,
};
use options::Options;
use rustix::time::{ClockId, clock_gettime};

const HELP: &str = "\
Measures the preparation of model calls beside floors that look at the same messages.

Usage: cargo xtask bench runtime [--json] [--check] [--rounds N] [--case TEXT]

  --json         print a JSON object per row instead of the table
  --check        exit with 1 when a ratio misses its target
  --rounds N     paired rounds per row (default 11); more for a noisy machine
  --case TEXT    only the rows with this in their name

On a noisy machine pin it to a processor: taskset -c 1 cargo xtask bench runtime";

const COLD: &str = "prepare, cold";
const WARM: &str = "prepare, one new message";
const SIZES: [usize; 4] = [100, 1_000, 10_000, 100_000];
/// Larger than any history here: what is measured is preparing, not compacting.
const WINDOW: u64 = 1_000_000_000;

fn main() {
    // See the measuring program of history: otherwise page faults are most of what is measured.
    drop(black_box(vec![1u8; 24 << 20]));
    let options = Options::read(HELP, 11, &[]);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut board = Board::new("runtime", options.json);
    for size in SIZES {
        runtime.block_on(measure(&mut board, &options, size));
    }
    if board.finish() && options.check {
        std::process::exit(1);
    }
}

async fn measure(board: &mut Board, options: &Options, size: usize) {
    let rounds = if size > 10_000 { options.rounds.min(3) } else { options.rounds };
    let history = history(size);
    let tools = tools();
    let model = "gpt-4o";
    let bare: Arc<dyn TokenCounter> = Arc::new(ModelCounter::for_model(model));
    let known = CachedCounter::with_capacity(Arc::clone(&bare), 1 << 18);
    let input = |messages: Vec<Arc<Message>>| {
        let input = PrepareInput::new("s", "t", "openai", model)
            .system(PROMPT.repeat(20))
            .tools(tools.iter().cloned());
        input.messages(messages).window(WINDOW)
    };
    let runtime = || DefaultContextRuntime::builder().build().unwrap();

    if options.has(COLD) {
        let mut row = Row::new(COLD, size, "us", Some(2.0)).skip_first(1);
        for _ in 0..=rounds {
            let (runtime, input) = (runtime(), input(history.clone()));
            row.ours(size, async {
                drop(black_box(runtime.prepare_for_model(input).await.unwrap()));
            })
            .await;
            row.floor(size, async {
                for message in &history {
                    black_box(bare.count_message(message));
                }
            })
            .await;
        }
        board.add(row);
    }
    if options.has(WARM) {
        // In short histories prompt and tools are most of it, which the floor does not look at.
        let target = (size >= 10_000).then_some(1.0);
        let mut row = Row::new(WARM, size, "ns", target).skip_first(1);
        let (runtime, mut longer) = (runtime(), history);
        let mut best = f64::MAX;
        drop(runtime.prepare_for_model(input(longer.clone())).await.unwrap());
        for round in 0..=rounds.max(5) {
            longer.push(Arc::new(Message::text(Role::Assistant, format!("{round}: {PROMPT}"))));
            let input = input(longer.clone());
            let before = cpu();
            // The context is dropped outside: giving back the caller's messages is the caller's.
            let mut context = None;
            row.ours(size, async {
                context = Some(runtime.prepare_for_model(input).await.unwrap());
            })
            .await;
            best = best.min((cpu() - before).as_secs_f64() * 1e3);
            drop(black_box(context));
            row.floor(size, async {
                black_box(known.count_messages(black_box(&longer)));
            })
            .await;
        }
        board.add(row);
        board.note(&format!("    {best:.3} ms CPU a call (goal at 10,000: under 1)"));
    }
}

const PROMPT: &str = "The train to Lisbon leaves at nine; whoever wants a window should be there early, because nobody keeps a seat. ";

/// Cycles of ten messages: a request, four calls with a result of four thousand characters each, a reply.
fn history(size: usize) -> Vec<Arc<Message>> {
    let code = include_str!("main.rs");
    let results = code.len() - 4_000;
    let message = |at: usize| match at % 10 {
        0 => Message::from(format!("{at}: {}", &PROMPT[..100])),
        9 => Message::text(Role::Assistant, PROMPT.repeat(3)),
        step if step % 2 == 1 => {
            let call = Part::tool_call(
                format!("call_{at}"),
                "read_file",
                serde_json::json!({"path": format!("src/{at}.rs")}),
            );
            Message::new(Role::Assistant, [Part::text(PROMPT), call])
        }
        _ => {
            let start = code.floor_char_boundary(at * 7_919 % results);
            let end = code.floor_char_boundary(start + 4_000);
            Message::new(Role::Tool, [Part::tool_result(format!("call_{}", at - 1), &code[start..end])])
        }
    };
    (0..size).map(|at| Arc::new(message(at))).collect()
}

fn tools() -> Vec<Tool> {
    let schema = serde_json::json!({"type": "object", "properties": {"path": {"type": "string", "description": PROMPT.repeat(3)}}});
    (0..25)
        .map(|i| FunctionTool::new(format!("tool_{i}"), schema.clone()).description(PROMPT).into())
        .collect()
}

/// The CPU time of this process.
fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
