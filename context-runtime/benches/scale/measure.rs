//! The figures of a store of one size.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use context_runtime::store::ChatQuery;
use context_runtime::{ContextEngine, assistant, user};
use futures_util::future::join_all;
use serde::Serialize;
use tokio_postgres::Client;

use crate::Options;
use crate::fill::{Filled, Filling, SERVER};
use crate::space::{self, Space};
use crate::usage::Usage;

#[derive(Serialize)]
pub(crate) struct Figures {
    messages: usize,
    chats: usize,
    /// Messages a second while the store was filled.
    filled_per_second: f64,
    /// Bytes of a message: of all relations, of tables, of indexes, and beside tables.
    bytes: f64,
    table_bytes: f64,
    index_bytes: f64,
    beside_bytes: f64,
    turns_per_second: f64,
    turn_median_ms: f64,
    turn_p99_ms: f64,
    /// CPU of a turn, in microseconds.
    turn_client_us: f64,
    turn_server_us: f64,
    open_median_ms: f64,
    open_p99_ms: f64,
    list_median_ms: f64,
    list_p99_ms: f64,
    vacuum_s: f64,
    longest_vacuum_s: f64,
}

impl Figures {
    pub(crate) const HEADER: &str = "\
| messages | chats | filled a second | bytes a message (tables, indexes, beside) | turns a second | turn, ms (median, p99) | CPU of a turn, µs (program, server) | open, ms | list, ms | vacuum, s (all, longest) |
|---|---|---|---|---|---|---|---|---|---|";
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "| {} | {} | {:.0} | {:.0} ({:.0}, {:.0}, {:.0}) | {:.0} | {:.1}, {:.1} | {:.0}, {:.0} | {:.2}, {:.2} | {:.2}, {:.2} | {:.1}, {:.1} |",
            self.messages,
            self.chats,
            self.filled_per_second,
            self.bytes,
            self.table_bytes,
            self.index_bytes,
            self.beside_bytes,
            self.turns_per_second,
            self.turn_median_ms,
            self.turn_p99_ms,
            self.turn_client_us,
            self.turn_server_us,
            self.open_median_ms,
            self.open_p99_ms,
            self.list_median_ms,
            self.list_p99_ms,
            self.vacuum_s,
            self.longest_vacuum_s
        )
    }
}

pub(crate) async fn measure(
    filling: &Filling,
    filled: Filled,
    options: &Options,
    client: &Client,
    schema: &str,
) -> Figures {
    let (vacuum_s, longest_vacuum_s) = space::vacuum(client, schema).await;
    let space = Space::of(client, schema).await;
    let of_message = |bytes: f64| bytes / filling.messages() as f64;
    let (tasks, time) = (options.tasks as usize, Duration::from_secs(options.seconds));
    // The first time is for caches and for the statements of the connections.
    drop(timed(tasks, time, |number| turn(filling, number)).await);
    let (before, begun) = (Usage::now(SERVER), Instant::now());
    let turns = timed(tasks, time, |number| turn(filling, number)).await;
    let (seconds, usage) = (begun.elapsed().as_secs_f64(), before.until_now(SERVER));
    let of_turn = |cpu: f64| cpu * 1e6 / turns.len() as f64;
    let opened = timed(1, time, |number| async move { drop(open(filling, number).await) }).await;
    let listed = timed(1, time, |number| list(filling, number)).await;
    Figures {
        messages: filling.messages(),
        chats: filling.chats,
        filled_per_second: filled.messages as f64 / filled.seconds,
        bytes: of_message(space.total()),
        table_bytes: of_message(space.tables),
        index_bytes: of_message(space.indexes),
        beside_bytes: of_message(space.beside),
        turns_per_second: turns.len() as f64 / seconds,
        turn_median_ms: part(&turns, 0.5),
        turn_p99_ms: part(&turns, 0.99),
        turn_client_us: of_turn(usage.client.cpu),
        turn_server_us: of_turn(usage.server.cpu),
        open_median_ms: part(&opened, 0.5),
        open_p99_ms: part(&opened, 0.99),
        list_median_ms: part(&listed, 0.5),
        list_p99_ms: part(&listed, 0.99),
        vacuum_s,
        longest_vacuum_s,
    }
}

/// Repeats work on random chats with this many tasks. Returns the times, ascending.
async fn timed<F: Future<Output = ()>>(
    tasks: usize,
    time: Duration,
    work: impl Fn(usize) -> F,
) -> Vec<f64> {
    let end = Instant::now() + time;
    let task = async |number: usize| {
        let (mut random, mut times) = (number as u64 + 1, Vec::new());
        loop {
            let start = Instant::now();
            if start >= end {
                return times;
            }
            // Knuth's generator, whose high bits are random enough. No two tasks draw one number.
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            work((random >> 33) as usize / tasks * tasks + number).await;
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
    };
    let mut times = join_all((0..tasks).map(task)).await.concat();
    times.sort_by(f64::total_cmp);
    times
}

/// Returns the time below which this part of the times is.
fn part(times: &[f64], part: f64) -> f64 {
    let last = times.len().saturating_sub(1);
    times.get((last as f64 * part).round() as usize).copied().unwrap_or_default()
}

async fn open(filling: &Filling, number: usize) -> ContextEngine {
    let chat = filling.chat(number % filling.chats);
    let engine = ContextEngine::builder(Arc::clone(&filling.store)).user(chat.user.as_str());
    let mut engine = engine.chat(chat.chat.as_str()).open().await.unwrap();
    let _request = std::hint::black_box(engine.resolve().await.unwrap());
    engine
}

async fn turn(filling: &Filling, number: usize) {
    let chat = filling.chat(number % filling.chats);
    let engine = ContextEngine::builder(Arc::clone(&filling.store)).user(chat.user.as_str());
    let mut engine = engine.chat(chat.chat.as_str()).open().await.unwrap();
    engine.set([user(filling.text(number).to_owned())]);
    let _request = std::hint::black_box(engine.resolve().await.unwrap());
    engine.set([assistant(filling.text(number + 1).to_owned())]);
    engine.save().await.unwrap();
}

async fn list(filling: &Filling, number: usize) {
    let query = ChatQuery::new(filling.chat(number % filling.chats).user);
    let _page = std::hint::black_box(filling.store.history().list_chats(&query).await.unwrap());
}
