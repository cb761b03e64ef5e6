//! `cargo xtask bench tokens`: the cost of counting, compared with a floor that does the same with
//! a bare library.
//!
//! The floor of a text is the count of another implementation of the same vocabulary, which is
//! linear by design. The floor of messages is our own tokenizer, called on the same texts. Costs
//! are CPU time per kilobyte or message. No result depends on absolute times.

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
use std::sync::Arc;
use std::time::Duration;

use board::{Board, Row};
use context_runtime::tokens::{CachedCounter, ModelCounter, TokenCounter, Vocabulary};
use context_runtime::{Message, Role};
use options::Options;
use rustix::time::{ClockId, clock_gettime};

const HELP: &str = "\
Measures the counting of tokens beside floors that call bare libraries.

Usage: cargo xtask bench tokens [--json] [--check] [--rounds N] [--case TEXT]

  --json         print a JSON object per row instead of the table
  --check        exit with 1 when a ratio misses its target
  --rounds N     paired rounds per row (default 11); more for a noisy machine
  --case TEXT    only the rows with this in their name

On a noisy machine pin it to a processor: taskset -c 1 cargo xtask bench tokens";

const COLD: &str = "10,000 messages of 400 bytes, cold";
const WARM: &str = "one new among 10,000, against all cold";
const MEGABYTE: usize = 1 << 20;

/// A text of a megabyte: a repeated unit.
struct Text {
    name: &'static str,
    unit: String,
    target: f64,
}

fn texts() -> Vec<Text> {
    let text = |name, unit: &str, target| Text { name, unit: unit.to_owned(), target };
    let prose = "The train to Lisbon leaves at nine; whoever wants a window should be there early, \
                 because nobody keeps a seat. Tickets cost forty euros, children pay half.\n";
    vec![
        // The text of a whole README, not one repeated line.
        text(
            "prose (this repository's README)",
            &format!("{}{prose}", include_str!("../../../README.md")),
            1.0,
        ),
        text("code (this program)", include_str!("main.rs"), 1.0),
        text("JSON", &json(), 1.0),
        text(
            "CJK with punctuation",
            "列车九点开往里斯本,想靠窗的人要早点到。票价四十欧元,儿童半价。\n",
            1.5,
        ),
        text("CJK without punctuation", "人工智能正在改变世界各地的产业结构与生活方式", 1.2),
        text("one letter", "a", 1.2),
        text("one CJK character", "汉", 1.2),
        text("a rule of dashes", "-", 0.5),
        text("blanks", " ", 1.5),
        text("lines of dashes", &format!("{}\n", "-".repeat(120)), 1.2),
        text("<|endoftext|>", "<|endoftext|>", 0.5),
        Text { name: "random letters", unit: random(), target: 1.5 },
    ]
}

fn json() -> String {
    let rows = (0..200).map(|i| {
        serde_json::json!({"id": i * 7919, "name": format!("item-{i}"),
            "price": f64::from(i) / 3.0, "tags": ["a", "b"]})
    });
    serde_json::to_string(&rows.collect::<Vec<_>>()).unwrap()
}

fn random() -> String {
    let mut state = 88_172_645_463_325_252_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..MEGABYTE).map(|_| char::from(b'a' + (next() % 26) as u8)).collect()
}

fn megabyte(unit: &str) -> String {
    let mut text = unit.repeat(MEGABYTE / unit.len() + 1);
    text.truncate(text.floor_char_boundary(MEGABYTE));
    text
}

fn main() {
    // See `settle_allocator` of the history benchmark: otherwise page faults dominate the
    // measurement.
    drop(black_box(vec![1u8; 24 << 20]));
    let options = Options::read(HELP, 11, &[]);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut board = Board::new("tokens", options.json);
    let loading = cpu(|| {
        black_box(Vocabulary::O200kBase.count("a"));
    });
    board.note(&format!("unpacking o200k_base, once for each process: {loading:.0} ms CPU"));
    for text in texts().iter().filter(|text| options.has(text.name)) {
        runtime.block_on(whole(&mut board, text, options.rounds));
    }
    runtime.block_on(messages(&mut board, &options));
    if board.finish() && options.check {
        std::process::exit(1);
    }
}

async fn whole(board: &mut Board, text: &Text, rounds: usize) {
    let content = megabyte(&text.unit);
    let oracle = bpe_openai::o200k_base();
    let mut row = Row::new(text.name, content.len(), "us", Some(text.target)).skip_first(1);
    let mut best = f64::MAX;
    // The floor takes seconds on some of them.
    for _ in 0..=rounds.min(if text.unit.starts_with('-') { 3 } else { rounds }) {
        row.ours(content.len() / 1000, async {
            best = best.min(cpu(|| {
                black_box(Vocabulary::O200kBase.count(black_box(&content)));
            }));
        })
        .await;
        row.floor(content.len() / 1000, async {
            black_box(oracle.count(black_box(&content)));
        })
        .await;
    }
    board.add(row);
    board.note(&format!(
        "    {:.0} MB/s, {best:.1} ms CPU (goal: under 50)",
        content.len() as f64 / best / 1e3
    ));
}

/// Measures ten thousand messages of 400 bytes.
async fn messages(board: &mut Board, options: &Options) {
    const N: usize = 10_000;
    let words = megabyte(&format!("{}{}", include_str!("../../../README.md"), json()));
    let history: Vec<Arc<Message>> = (0..N)
        .map(|i| {
            let start = words.floor_char_boundary(i * 7_919 % (words.len() - 400));
            let end = words.floor_char_boundary(start + 400);
            let role = if i % 2 == 0 { Role::User } else { Role::Assistant };
            Arc::new(Message::text(role, &words[start..end]))
        })
        .collect();
    let texts: Vec<_> = history.iter().map(|message| message.plain_text()).collect();
    let bare = tiktoken::get_encoding("o200k_base").unwrap();
    let plain: Arc<dyn TokenCounter> = Arc::new(ModelCounter::for_model("gpt-4o"));
    let (mut cold, mut warm) = (
        Row::new(COLD, N, "us", Some(3.0)).skip_first(1),
        Row::new(WARM, N, "us", Some(0.1)).skip_first(1),
    );
    if ![COLD, WARM].iter().any(|name| options.has(name)) {
        return;
    }
    let (mut best_cold, mut best_warm) = (f64::MAX, f64::MAX);
    for round in 0..=options.rounds {
        let counter = CachedCounter::new(Arc::clone(&plain));
        cold.ours(N, async {
            best_cold = best_cold.min(cpu(|| {
                black_box(counter.count_messages(black_box(&history)));
            }));
        })
        .await;
        cold.floor(N, async {
            for text in &texts {
                black_box(bare.count(black_box(text)));
            }
        })
        .await;
        let mut longer = history.clone();
        longer.push(Arc::new(Message::from(format!(
            "{round} {}",
            &words[..words.floor_char_boundary(400)]
        ))));
        warm.ours(N, async {
            best_warm = best_warm.min(cpu(|| {
                black_box(counter.count_messages(black_box(&longer)));
            }));
        })
        .await;
        warm.floor(N, async {
            black_box(plain.count_messages(black_box(&longer)));
        })
        .await;
    }
    board.add(cold);
    board.note(&format!("    {best_cold:.0} ms CPU (goal: under 300)"));
    board.add(warm);
    board.note(&format!("    {best_warm:.2} ms CPU (goal: under 1)"));
}

/// Returns the milliseconds of CPU time of some work.
fn cpu(work: impl FnOnce()) -> f64 {
    let now = || {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    };
    let before = now();
    work();
    (now() - before).as_secs_f64() * 1e3
}
