//! `cargo xtask bench wire`: the cost of a provider's wire form, compared with serde_json over the
//! same bytes.
//!
//! Lowering is compared with writing the same body from a `serde_json::Value`, lifting with reading
//! it into one. Both sides end with a whole request: repaired bytes here, messages there. No result
//! depends on absolute times.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program that measures, not a library"
)]

#[path = "../shared/board.rs"]
mod board;
#[path = "../shared/options.rs"]
mod options;

use std::hint::black_box;

use board::{Board, Row};
use context_runtime::{
    Json, Message, PROVIDERS, Part, Role,
    model::{ModelCodec, ModelRequest},
    provider,
};
use options::Options;
use serde_json::Value;

const HELP: &str = "\
Measures codecs beside serde_json over the same bytes.

Usage: cargo xtask bench wire [--json] [--check] [--rounds N] [--only PROVIDER]... [--case TEXT]

  --json           print a JSON object per row instead of the table
  --check          exit with 1 when a ratio misses its target
  --rounds N       paired rounds per row (default 21); more for a noisy machine
  --only PROVIDER  openai, openai-responses, anthropic or gemini; may be given several times
  --case TEXT      only the rows with this in their name

On a noisy machine pin it to a processor: taskset -c 1 cargo xtask bench wire";

/// A kind of conversation.
struct Shape {
    name: &'static str,
    messages: fn(usize) -> Vec<Message>,
}

const SHAPES: [Shape; 2] =
    [Shape { name: "talk", messages: talk }, Shape { name: "tools", messages: tools }];

fn main() {
    // See `settle_allocator` of the history benchmark: otherwise page faults dominate the
    // measurement.
    drop(black_box(vec![1u8; 24 << 20]));
    let options = Options::read(HELP, 21, PROVIDERS);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut board = Board::new("wire", options.json);
    for name in PROVIDERS.iter().copied() {
        if !options.wants(name) {
            continue;
        }
        let codec = provider(name).unwrap();
        for shape in &SHAPES {
            for n in [1_000, 10_000] {
                let request =
                    ModelRequest::new((shape.messages)(n)).model("m").max_output_tokens(1_000);
                for (work, measure) in [("lower", lower as Measure), ("lift", lift as Measure)] {
                    let case: &'static str =
                        Box::leak(format!("{name}: {work} {}", shape.name).into_boxed_str());
                    if options.has(case) {
                        let row = Row::new(case, n, "ns", Some(2.0)).skip_first(1);
                        board.add(runtime.block_on(measure(
                            row,
                            &*codec,
                            &request,
                            options.rounds,
                        )));
                    }
                }
            }
        }
    }
    if board.finish() && options.check {
        std::process::exit(1);
    }
}

type Measure = for<'a> fn(
    Row,
    &'a dyn ModelCodec,
    &'a ModelRequest,
    usize,
) -> std::pin::Pin<Box<dyn Future<Output = Row> + 'a>>;

/// Returns how often a body is handled per round, so that short ones are measured as well.
fn times(request: &ModelRequest) -> usize {
    20_000 / request.messages.len()
}

fn lower<'a>(
    mut row: Row,
    codec: &'a dyn ModelCodec,
    request: &'a ModelRequest,
    rounds: usize,
) -> std::pin::Pin<Box<dyn Future<Output = Row> + 'a>> {
    Box::pin(async move {
        let (n, times) = (request.messages.len(), times(request));
        let value: Value = codec.lower(request).unwrap().body.parse().unwrap();
        for _ in 0..=rounds {
            row.ours(n * times, async {
                for _ in 0..times {
                    drop(black_box(codec.lower(black_box(request)).unwrap()));
                }
            })
            .await;
            row.floor(n * times, async {
                for _ in 0..times {
                    black_box(serde_json::to_vec(black_box(&value)).unwrap());
                }
            })
            .await;
        }
        row
    })
}

fn lift<'a>(
    mut row: Row,
    codec: &'a dyn ModelCodec,
    request: &'a ModelRequest,
    rounds: usize,
) -> std::pin::Pin<Box<dyn Future<Output = Row> + 'a>> {
    Box::pin(async move {
        let (n, times) = (request.messages.len(), times(request));
        let body: Json = codec.lower(request).unwrap().body;
        for _ in 0..=rounds {
            row.ours(n * times, async {
                for _ in 0..times {
                    drop(black_box(codec.lift(black_box(&body)).unwrap()));
                }
            })
            .await;
            row.floor(n * times, async {
                for _ in 0..times {
                    let value: Value =
                        serde_json::from_slice(black_box(body.as_str().as_bytes())).unwrap();
                    black_box(value);
                }
            })
            .await;
        }
        row
    })
}

/// Returns 400 bytes of text.
fn text(i: usize) -> String {
    let mut text =
        format!("Message {i}: the train leaves at \"nine\" and arrives in Lisbon before noon.\n");
    while text.len() < 400 {
        text.push_str("Ask before you pay, and keep the receipt. ");
    }
    text.truncate(400);
    text
}

/// Returns texts, user and assistant in turn.
fn talk(n: usize) -> Vec<Message> {
    (0..n)
        .map(|i| Message::text(if i % 2 == 0 { Role::User } else { Role::Assistant }, text(i)))
        .collect()
}

/// Returns messages in groups of four: a question, two tool calls, their results, and an answer.
fn tools(n: usize) -> Vec<Message> {
    (0..n)
        .map(|i| {
            let id = |call: usize| format!("call_{}_{call}", i / 4);
            let half = || text(i)[..200].to_owned();
            let input = || {
                Json::from_text(format!(r#"{{"city":"Lisbon","note":"{}"}}"#, "n".repeat(150)))
                    .unwrap()
            };
            match i % 4 {
                0 => Message::from(text(i)),
                1 => Message::new(
                    Role::Assistant,
                    [
                        Part::text("Let me look."),
                        Part::tool_call(id(0), "timetable", input()),
                        Part::tool_call(id(1), "weather", input()),
                    ],
                ),
                2 => Message::new(
                    Role::Tool,
                    [Part::tool_result(id(0), half()), Part::tool_result(id(1), half())],
                ),
                _ => Message::text(Role::Assistant, text(i)),
            }
        })
        .collect()
}
