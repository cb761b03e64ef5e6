//! `cargo xtask bench streams`: how late readers of answers in flight get a chunk, and what idle
//! readers cost.
//!
//! Many readers follow a few streams of one store handle. A writer adds one chunk at a time, to one
//! stream after the other, through the same handle or through another one, as another process
//! would. A chunk is late by the time from its acknowledgement until a reader has it. The baseline
//! is the same with readers that poll. Idle readers cost CPU time of this process.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program that measures, not a library"
)]

#[allow(dead_code, reason = "not every program does all of it")]
#[path = "../shared/options.rs"]
mod options;
#[allow(dead_code, reason = "not every program does all of it")]
#[path = "../shared/sheet.rs"]
mod sheet;

use std::sync::Arc;
use std::time::{Duration, Instant};

use context_runtime::store::{NewChat, StreamAppend, StreamClaim};
use context_runtime::streams::{AnswerReader, Streams};
use context_runtime::{ChatRef, Store, SystemClock, Timestamp, Uuid7Ids};
use context_simulator::faults::{Fault, FaultPlan, FaultStore, Operation};
use options::Options;
use rustix::time::{ClockId, clock_gettime};
use sheet::{Metric, Sheet};
use tokio::sync::mpsc;
use tokio::time::sleep;

const HELP: &str = "\
Measures how late 200 readers of 20 streams get a chunk, and what they cost while nothing comes,
beside readers that poll.

Usage: cargo xtask bench streams [--json] [--check] [--rounds N] [--only STORE]...

  --json        print a JSON object per number instead of the table
  --check       exit with 1 when a number misses its target
  --rounds N    chunks per stream (default 10)
  --only STORE  mem, sqlite, postgres or redis; may be given several times

PostgreSQL and Redis are started by `cargo xtask`, or named in CONTEXT_TEST_POSTGRES_URL and CONTEXT_TEST_REDIS_URL; what is not
there is left out, and said to be.";

const NAMES: [&str; 4] = ["mem", "sqlite", "postgres", "redis"];
const STREAMS: usize = 20;
const READERS_OF_EACH: usize = 10;
const ID: &str = "answer";
const WRITER: &str = "writer";
/// The pause between two chunks.
const PAUSE: Duration = Duration::from_millis(20);
/// The time over which idle readers are measured, once they poll as rarely as they do.
const IDLE: Duration = Duration::from_secs(4);
const SETTLED: Duration = Duration::from_secs(2);
/// The targets: milliseconds, and percent of a core.
const MEDIAN: f64 = 10.0;
const SHARE: f64 = 0.5;

/// A place for one store.
struct Place {
    name: &'static str,
    url: String,
}

impl Place {
    fn new(name: &'static str, folder: &std::path::Path, n: usize) -> Result<Self, &'static str> {
        let place = format!("bench_streams_{}_{n}", std::process::id());
        let server = |variable: &'static str| -> Result<String, &'static str> {
            let url = std::env::var(variable).map_err(|_| variable)?;
            let sign = if url.contains('?') { '&' } else { '?' };
            Ok(format!("{url}{sign}"))
        };
        let url = match name {
            "mem" => "mem:".to_owned(),
            "sqlite" => format!("sqlite:{}", folder.join(place).display()),
            "postgres" => format!("{}schema={place}", server("CONTEXT_TEST_POSTGRES_URL")?),
            _ => format!("{}prefix={place}:", server("CONTEXT_TEST_REDIS_URL")?),
        };
        Ok(Self { name, url })
    }

    async fn open(&self) -> Arc<dyn Store> {
        context_runtime::open(&self.url).await.unwrap()
    }
}

/// The measurements of one kind of readers: milliseconds, and percent of a core.
struct Measured {
    median: f64,
    p99: f64,
    idle: f64,
    append: f64,
}

fn main() {
    let options = Options::read(HELP, 10, &NAMES);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let mut sheet = Sheet::new("streams", options.json);
    let folder = tempfile::tempdir().unwrap();
    runtime.block_on(async {
        sheet.begin("200 readers of 20 streams");
        for name in NAMES.into_iter().filter(|name| options.wants(name)) {
            for (case, other) in [("this handle", false), ("another handle", true)] {
                if other && name == "mem" {
                    continue;
                }
                let places =
                    [0, 1].map(|n| Place::new(name, folder.path(), n + 2 * usize::from(other)));
                match places {
                    [Ok(woken), Ok(polling)] => {
                        compare(&mut sheet, case, other, [woken, polling], options.rounds).await
                    }
                    [Err(missing), _] | [_, Err(missing)] => {
                        sheet.note(&format!("{name}: left out, {missing} is not set"));
                    }
                }
            }
        }
    });
    if sheet.finish() && options.check {
        std::process::exit(1);
    }
}

async fn compare(
    sheet: &mut Sheet,
    case: &str,
    other: bool,
    [woken, polling]: [Place; 2],
    rounds: usize,
) {
    let ours = measure(&woken, other, false, rounds).await;
    let theirs = measure(&polling, other, true, rounds).await;
    let metrics = [
        Metric::new("median ms", ours.median, theirs.median).at_most(MEDIAN),
        Metric::new("median ms, polling", theirs.median, theirs.median),
        Metric::new("p99 ms", ours.p99, theirs.p99),
        Metric::new("p99 ms, polling", theirs.p99, theirs.p99),
        Metric::new("idle, % of a core", ours.idle, theirs.idle).at_most(SHARE),
        Metric::new("idle, %, polling", theirs.idle, theirs.idle),
        Metric::new("append, median ms", ours.append, theirs.append),
    ];
    sheet.add(&format!("{}, written through {case}", woken.name), "chunks", &metrics);
}

fn chat(stream: usize) -> ChatRef {
    ChatRef::new("ada", format!("chat-{stream}"))
}

fn now() -> Timestamp {
    use context_runtime::Clock as _;
    SystemClock.now()
}

async fn measure(place: &Place, other: bool, polls: bool, rounds: usize) -> Measured {
    let store = place.open().await;
    let writer = if other { place.open().await } else { Arc::clone(&store) };
    for stream in 0..STREAMS {
        let chat = chat(stream);
        let _new = store.history().create_chat(NewChat::new(chat.clone(), now())).await.unwrap();
        let streams = writer.streams().unwrap();
        let _new = streams.create_stream(&chat, &ID.into(), now()).await.unwrap();
        let claim = StreamClaim::new(WRITER, now());
        let _ours = streams.claim_stream(&chat, &ID.into(), &claim).await.unwrap();
    }
    let read = if polls { without_watches(&store) } else { Arc::clone(&store) };
    let (send, mut received) = mpsc::unbounded_channel();
    for reader in 0..STREAMS * READERS_OF_EACH {
        let stream = reader % STREAMS;
        let streams = Streams::new(
            Arc::clone(&read),
            chat(stream),
            Arc::new(SystemClock),
            Arc::new(Uuid7Ids),
        );
        tokio::spawn(follow(streams.follow(ID, 0), stream, send.clone()));
    }
    drop(send);
    sleep(SETTLED).await;
    let (cpu, wall) = (process_time(), Instant::now());
    sleep(IDLE).await;
    let idle = (process_time() - cpu).as_secs_f64() / wall.elapsed().as_secs_f64() * 100.0;

    let mut written = vec![Vec::new(); STREAMS];
    let mut appends = Vec::new();
    for round in 0..rounds {
        for (stream, written) in written.iter_mut().enumerate() {
            let append =
                StreamAppend::new(WRITER, round as u64, ["some words of an answer"], now());
            let streams = writer.streams().unwrap();
            let begin = Instant::now();
            let done = streams.append_stream(&chat(stream), &ID.into(), append).await.unwrap();
            assert!(done.is_done());
            written.push(Instant::now());
            appends.push(millis(begin.elapsed()));
            sleep(PAUSE).await;
        }
    }
    let mut late = Vec::new();
    for _ in 0..rounds * STREAMS * READERS_OF_EACH {
        let (stream, offset, at): (usize, usize, Instant) = received.recv().await.unwrap();
        late.push(millis(at.saturating_duration_since(written[stream][offset])));
    }
    for stream in 0..STREAMS {
        store.history().delete_chat(&chat(stream), None).await.unwrap();
    }
    late.sort_by(f64::total_cmp);
    appends.sort_by(f64::total_cmp);
    store.close().await.unwrap();
    writer.close().await.unwrap();
    Measured {
        median: late[late.len() / 2],
        p99: late[late.len() * 99 / 100],
        idle,
        append: appends[appends.len() / 2],
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Sends when each chunk has come.
async fn follow(
    mut reader: AnswerReader,
    stream: usize,
    send: mpsc::UnboundedSender<(usize, usize, Instant)>,
) {
    while let Ok(Some(chunk)) = reader.next().await {
        if send.send((stream, chunk.offset as usize, Instant::now())).is_err() {
            return;
        }
    }
}

/// Returns the store without its ability to watch.
fn without_watches(store: &Arc<dyn Store>) -> Arc<dyn Store> {
    let plan = (0..2_000).fold(FaultPlan::default(), |plan, nth| {
        plan.with(Operation::WatchStream, nth, Fault::BeforeApply)
    });
    Arc::new(FaultStore::new(Arc::clone(store), plan))
}

fn process_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
