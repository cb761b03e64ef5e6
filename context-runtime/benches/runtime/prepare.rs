//! Preparing a call with a history that need not be cut.
//!
//! The floor of a call with one new message adds known counts up, and does what every call
//! requires: it hashes system prompt and tools, to detect a changed prefix, and joins the prompt.
//! So short histories can have a target too.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use context_runtime::tokens::{CachedCounter, ModelCounter, TokenCounter};
use context_runtime::{
    ContextRuntime, DefaultContextRuntime, Message, Messages, PrepareInput, Role, Tool,
};
use rustix::time::{ClockId, clock_gettime};

use crate::board::{Board, Row};
use crate::data::{MODEL, PROMPT, history, tools};
use crate::options::Options;

const COLD: &str = "prepare, cold";
const WARM: &str = "prepare, one new message";
const SIZES: [usize; 4] = [100, 1_000, 10_000, 100_000];
/// Larger than any history here, so that preparing is measured and not compacting.
const WINDOW: u64 = 1_000_000_000;

/// Measures cold and warm calls, for each size.
pub(crate) async fn measure(board: &mut Board, options: &Options) {
    for size in SIZES {
        let bench = Bench { rounds: options.rounds, history: history(size), tools: tools() };
        if options.has(COLD) {
            bench.cold(board).await;
        }
        if options.has(WARM) {
            bench.warm(board).await;
        }
    }
}

struct Bench {
    rounds: usize,
    history: Vec<Arc<Message>>,
    tools: Vec<Tool>,
}

impl Bench {
    fn input(&self, messages: Messages) -> PrepareInput {
        let input = PrepareInput::new(("ada", "s"), "t", "openai", MODEL)
            .system(PROMPT.repeat(20))
            .tools(self.tools.iter().cloned());
        input.conversation(messages).window(WINDOW)
    }

    async fn cold(&self, board: &mut Board) {
        let size = self.history.len();
        let bare = ModelCounter::for_model(MODEL);
        let rounds = if size > 10_000 { self.rounds.min(3) } else { self.rounds };
        let mut row = Row::new(COLD, size, "us", Some(2.0)).skip_first(1);
        for _ in 0..=rounds {
            let (runtime, input) = (runtime(), self.input(self.history.clone().into()));
            row.ours(size, async {
                drop(black_box(runtime.prepare_for_model(input).await.unwrap()));
            })
            .await;
            row.floor(size, async {
                for message in &self.history {
                    black_box(bare.count_message(message));
                }
            })
            .await;
        }
        board.add(row);
    }

    async fn warm(self, board: &mut Board) {
        let size = self.history.len();
        let known = CachedCounter::with_capacity(Arc::new(ModelCounter::for_model(MODEL)), 1 << 18);
        let mut row =
            Row::new(WARM, size, "ns", Some(if size < 10_000 { 2.0 } else { 1.0 })).skip_first(1);
        let (runtime, mut longer) = (runtime(), Messages::from(self.history.clone()));
        let mut best = f64::MAX;
        drop(runtime.prepare_for_model(self.input(longer.clone())).await.unwrap());
        for round in 0..=self.rounds.max(5) {
            longer.push(Arc::new(Message::text(Role::Assistant, format!("{round}: {PROMPT}"))));
            let input = self.input(longer.clone());
            let before = cpu();
            // The context is dropped outside, because freeing the caller's messages is the caller's
            // cost.
            let mut context = None;
            row.ours(size, async {
                context = Some(runtime.prepare_for_model(input).await.unwrap());
            })
            .await;
            best = best.min((cpu() - before).as_secs_f64() * 1e3);
            drop(black_box(context));
            let (input, counted) = (self.input(Messages::new()), longer.to_vec());
            row.floor(size, async {
                black_box(begin(&input));
                black_box(known.count_messages(black_box(&counted)));
            })
            .await;
        }
        board.add(row);
        board.note(&format!("    {best:.3} ms CPU a call (goal at 10,000: under 1)"));
    }
}

fn runtime() -> DefaultContextRuntime {
    DefaultContextRuntime::builder().build().unwrap()
}

/// Returns the hash of prompt and tools, and the prompt as one text.
fn begin(input: &PrepareInput) -> (blake3::Hash, String) {
    let mut hasher = blake3::Hasher::new();
    for text in &input.request.system {
        hasher.update(text.text.as_bytes());
    }
    for tool in &input.request.tools {
        if let Tool::Function(tool) = tool {
            hasher.update(tool.name.as_bytes());
            hasher.update(tool.description.as_deref().unwrap_or_default().as_bytes());
            hasher.update(tool.input_schema.as_str().as_bytes());
        }
    }
    let texts: Vec<&str> = input.request.system.iter().map(|text| text.text.as_str()).collect();
    (hasher.finalize(), texts.join("\n\n"))
}

/// Returns the CPU time of this process.
fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
