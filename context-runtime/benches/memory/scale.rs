//! The cost of a recall in memories of growing size: one user, everything in one scope, on SQLite.
//!
//! The texts are generated: twenty words of a vocabulary in which few words are frequent and most
//! are rare, as in any language, in sessions of twenty turns. A question has words of one turn and
//! additional frequent ones.

use std::sync::Arc;
use std::time::Duration;

use context_runtime::memory::{EPISODE, Episodic, words};
use context_runtime::{
    CancelSignal, Store, Timestamp,
    memory::{MemoryProvider, MemoryScope, RecallQuery},
    store::{MemoryOutcome, MemoryRecord, MemoryRecordStore, MemorySource, MemoryWrite},
};
use context_store_sqlite::{SqliteConfig, SqliteStore};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use crate::Options;

/// The goal at the largest size, in milliseconds of CPU time.
const GOAL: f64 = 20.0;

const VOCABULARY: f64 = 50_000.0;
const QUESTIONS: usize = 101;
const BATCH: usize = 500;

/// Returns the CPU time of this process, in seconds.
pub(crate) fn cpu() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

#[derive(Serialize)]
struct Line {
    area: &'static str,
    case: &'static str,
    records: usize,
    recall_ms: f64,
    recall_ms_p95: f64,
    recalled: f64,
    written_per_second: f64,
    bytes_per_record: u64,
}

pub(crate) async fn measure(options: &Options) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.db");
    let store = Arc::new(SqliteStore::open(SqliteConfig::new(&path)).await.unwrap());
    let memory = Episodic::new(Arc::clone(&store) as Arc<dyn Store>).unwrap().hot(Duration::ZERO);
    let records = store.memories().unwrap();
    let mut sizes = vec![1_000, 10_000, 100_000, 1_000_000];
    sizes.retain(|size| *size < options.records);
    sizes.push(options.records);
    if !options.json {
        println!(
            "{:>12} {:>16} {:>10} {:>10} {:>14} {:>14}",
            "records", "recall (median)", "p95", "recalled", "written/s CPU", "bytes/record"
        );
    }
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut written = 0;
    let mut median = 0.0;
    for size in sizes {
        let before = cpu();
        let news = size - written;
        while written < size {
            let end = (written + BATCH).min(size);
            write(records, &mut random, written..end).await;
            written = end;
        }
        let writing = cpu() - before;
        let mut costs = Vec::new();
        let mut recalled = 0;
        for _ in 0..QUESTIONS {
            let question = question(&mut random);
            let query = RecallQuery::new(MemoryScope::new("user"), question).max_tokens(2_000);
            let before = cpu();
            recalled += memory.recall(&query, &CancelSignal::never()).await.unwrap().memories.len();
            costs.push((cpu() - before) * 1e3);
        }
        costs.sort_by(f64::total_cmp);
        median = costs[QUESTIONS / 2];
        // The log has data that is not in the file yet.
        let size_of =
            |file: &std::path::Path| std::fs::metadata(file).map_or(0, |known| known.len());
        let bytes = size_of(&path) + size_of(&path.with_extension("db-wal"));
        let line = Line {
            area: "memory",
            case: "scale",
            records: size,
            recall_ms: round(median),
            recall_ms_p95: round(costs[QUESTIONS * 95 / 100]),
            recalled: recalled as f64 / QUESTIONS as f64,
            written_per_second: (news as f64 / writing).round(),
            bytes_per_record: bytes / size as u64,
        };
        if options.json {
            println!("{}", serde_json::to_string(&line).unwrap());
        } else {
            println!(
                "{:>12} {:>13.2} ms {:>7.2} ms {:>10.1} {:>14.0} {:>14}",
                size,
                line.recall_ms,
                line.recall_ms_p95,
                line.recalled,
                line.written_per_second,
                line.bytes_per_record
            );
        }
    }
    if median < GOAL { Vec::new() } else { vec![format!("scale: a recall under {GOAL} ms CPU")] }
}

async fn write(
    records: &dyn MemoryRecordStore,
    random: &mut Random,
    range: std::ops::Range<usize>,
) {
    let write = |at: usize| {
        let text = sentence(random, 20);
        let scope = MemoryScope::new("user");
        let said = Timestamp::from_micros(at as i64 * 60_000_000);
        let mut record = MemoryRecord::new(scope, format!("m{at}"), EPISODE, said, text.as_str());
        record.source = Some(MemorySource::message(format!("s{}", at / 20), format!("m{at}")));
        record.speaker = Some(if at.is_multiple_of(2) { "user" } else { "assistant" }.to_owned());
        MemoryWrite::new(record, words::index_words(&text))
    };
    let writes: Vec<_> = range.map(write).collect();
    assert!(matches!(records.write_memories(&writes).await.unwrap(), MemoryOutcome::Applied(_)));
}

/// Returns three to ten words: rare ones as in a turn, and frequent ones.
fn question(random: &mut Random) -> String {
    let length = 3 + (random.next() % 8) as usize;
    let mut words: Vec<String> = (0..length).map(|_| word(random)).collect();
    words.push(spelt(1 + (random.next() % 20) as usize));
    format!("What about {}?", words.join(" "))
}

fn sentence(random: &mut Random, words: usize) -> String {
    let words: Vec<_> = (0..words).map(|_| word(random)).collect();
    format!("{}.", words.join(" "))
}

/// Returns a word by Zipf's law: the n-th most frequent has a probability proportional to 1/n.
fn word(random: &mut Random) -> String {
    let place = (random.unit() * VOCABULARY.ln()).exp();
    spelt(place as usize)
}

/// Spells a number in syllables, so that no two words have the same stem.
fn spelt(mut number: usize) -> String {
    const SYLLABLES: [&str; 16] = [
        "ba", "ko", "ri", "mu", "ta", "lo", "ni", "du", "ga", "po", "vi", "su", "ra", "no", "ki",
        "fu",
    ];
    let mut word = String::from("z");
    for _ in 0..4 {
        word.push_str(SYLLABLES[number % 16]);
        number /= 16;
    }
    word.push('k');
    word
}

/// Pseudo-random numbers, the same in each run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Returns a number from 0 to 1.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn round(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}
