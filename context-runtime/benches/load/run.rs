//! Tasks that work at the same time for a while, and what that cost.

use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use async_trait::async_trait;

use crate::data;
use crate::options::{Mix, Task};
use crate::table::Case;
use crate::usage::Usage;

/// The question and the answer of a turn.
pub(crate) type Texts = [String; 2];

/// The number of texts, and of words, that a task draws from.
const DRAWS: usize = 1_024;

/// One of the two sides that are measured.
#[async_trait]
pub(crate) trait Side: Send + Sync {
    async fn turn(&self, chat: usize, texts: &Texts);

    /// Searches the messages of the chat's user for words.
    async fn search(&self, chat: usize, words: &str);

    /// Recalls memories of the chat's user.
    async fn recall(&self, chat: usize, words: &str);
}

/// The work and the cost of a run.
#[derive(Clone)]
pub(crate) struct Measured {
    pub(crate) seconds: f64,
    /// The time of each task, in microseconds, ascending.
    pub(crate) times: Vec<u32>,
    pub(crate) usage: Usage,
}

impl Measured {
    pub(crate) fn rate(&self) -> f64 {
        self.times.len() as f64 / self.seconds
    }

    /// Returns the time below which this part of the times is, in milliseconds.
    pub(crate) fn part(&self, part: f64) -> f64 {
        let last = self.times.len().saturating_sub(1);
        let at = (last as f64 * part).round() as usize;
        self.times.get(at).map_or(0.0, |time| f64::from(*time) / 1e3)
    }
}

/// Lets the tasks of a case work for this long.
pub(crate) async fn run(side: &Arc<dyn Side>, mix: Mix, case: Case, time: Duration) -> Measured {
    let before = Usage::now(case.store.program());
    let begun = Instant::now();
    let tasks = (0..case.tasks.min(case.chats))
        .map(|number| tokio::spawn(work(Arc::clone(side), mix, case, number, begun + time)));
    let mut times = Vec::new();
    for task in tasks.collect::<Vec<_>>() {
        times.extend(task.await.unwrap());
    }
    let seconds = begun.elapsed().as_secs_f64();
    let usage = before.until_now(case.store.program());
    times.sort_unstable();
    Measured { seconds, times, usage }
}

/// Works as one task until the end. Chats whose number is that of the task, modulo the number of
/// tasks, are its own.
async fn work(side: Arc<dyn Side>, mix: Mix, case: Case, number: usize, end: Instant) -> Vec<u32> {
    static DRAWN: LazyLock<Drawn> = LazyLock::new(Drawn::new);
    let own = (case.chats - number).div_ceil(case.tasks);
    let mut random = Random(begin(number));
    let mut times = Vec::new();
    loop {
        let start = Instant::now();
        if start >= end {
            return times;
        }
        let chat = number + case.tasks * random.below(own);
        let drawn = random.below(DRAWS);
        match mix.choose(random.next()) {
            Task::Turn => side.turn(chat, &DRAWN.texts[drawn]).await,
            Task::Search => side.search(chat, &DRAWN.words[drawn]).await,
            Task::Recall => side.recall(chat, &DRAWN.words[drawn]).await,
        }
        times.push(u32::try_from(start.elapsed().as_micros()).unwrap_or(u32::MAX));
    }
}

/// Texts and words, made beforehand, since making them is not measured.
struct Drawn {
    texts: Vec<Texts>,
    words: Vec<String>,
}

impl Drawn {
    fn new() -> Self {
        let texts = |i| [data::text(2 * i), data::text(2 * i + 1)];
        let words = |i| [20 + i % 50, 60 + i % 90, 150 + i % 400].map(data::word).join(" ");
        Self {
            texts: (0..DRAWS).map(texts).collect(),
            words: (0..DRAWS as u64).map(words).collect(),
        }
    }
}

/// Random numbers: xorshift64.
struct Random(u64);

fn begin(number: usize) -> u64 {
    (number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}
