//! `cargo xtask bench serve`: requests a second of two `context serve` over one store, beside two
//! bare axum servers that call the store with the same statements, and nothing else.
//!
//! The clients are tasks of this program, the servers are processes. Both sides are measured in
//! turn, and nothing is killed meanwhile: a killed server answers nothing for a while, on either
//! side, so the ratio would say less about the cost of a request. Then ours serves once more as
//! long, one server is killed and started again half-way, and the clients repeat what got no
//! answer. What was ever acknowledged is read back: a message that is lost, doubled or out of
//! order fails the run.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program that measures, not a library"
)]

mod check;
mod client;
mod connection;
mod database;
mod floor;
mod load;
mod servers;
mod table;

use std::time::Duration;

use clap::Parser;
use client::Client;
use database::{Database, Kind};
use load::Measured;
use servers::Servers;
use table::Table;

/// The rounds in which the sides take turns.
const ROUNDS: u32 = 3;

/// Measures two `context serve` over one store, beside two bare axum servers.
///
/// A message that was acknowledged and is lost, doubled or out of order ends the run with status 1.
/// PostgreSQL is started by `cargo xtask`, or named in CONTEXT_TEST_POSTGRES_URL.
#[derive(Parser)]
#[command(bin_name = "cargo xtask bench serve")]
struct Options {
    /// Print a JSON object per row instead of the table
    #[arg(long)]
    json: bool,
    /// Exit with 1 when a target is missed
    #[arg(long)]
    check: bool,
    /// Only this store [default: all]
    #[arg(long, value_enum)]
    store: Option<Kind>,
    /// Ask with 20 clients for 6 seconds, unless other numbers are given
    #[arg(long)]
    quick: bool,
    /// The clients that ask at the same time [default: 200]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    clients: Option<u16>,
    /// The seconds of load for each side, and then with a kill [default: 60]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: Option<u32>,
    /// Added by cargo
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some(floor::ARGUMENT) {
        runtime.block_on(floor::serve(&arguments.next().unwrap()));
        return;
    }
    let options = Options::parse();
    let mut table = Table::new(options.json);
    let mut is_correct = true;
    let kinds = options.store.map_or(Kind::ALL.to_vec(), |kind| vec![kind]);
    for kind in kinds {
        match Database::new(kind) {
            Some(database) => is_correct &= runtime.block_on(run(&options, &database, &mut table)),
            None => table.note(&format!("{kind}: not measured, {} is not set", database::POSTGRES)),
        }
    }
    let missed = table.finish();
    if !is_correct || (missed && options.check) {
        std::process::exit(1);
    }
}

/// Measures one store. Returns whether it kept what it acknowledged.
async fn run(options: &Options, database: &Database, table: &mut Table) -> bool {
    let (clients, seconds) = if options.quick { (20, 6) } else { (200, 60) };
    let count = usize::from(options.clients.unwrap_or(clients));
    let time = Duration::from_secs(options.seconds.unwrap_or(seconds).into());
    let all = || (0..count).map(Client::new).collect::<Vec<_>>();
    let mut servers = Servers::ours(database);
    let bare = Servers::floor(database);
    let (mut clients, mut others) = (all(), all());
    let (mut ours, mut floor) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(Measured::of(&mut clients, &servers, time / ROUNDS).await);
        floor.push(Measured::of(&mut others, &bare, time / ROUNDS).await);
    }
    drop(bare);
    table.add(database.kind, count, &ours, &floor);
    let unanswered = others.iter().flat_map(|client| &client.failed).count();
    assert_eq!(unanswered, 0, "the floor answers every request");

    let addresses = servers.addresses();
    let killed = async {
        tokio::time::sleep(time / 2).await;
        servers.kill_and_restart(database);
    };
    let repeated = |clients: &[Client]| clients.iter().map(|it| it.repeated).sum::<u64>();
    let before = repeated(&clients);
    let (answered, ()) = tokio::join!(load::run(&mut clients, &addresses, time), killed);
    let slowest = answered.iter().map(|it| it.time).max().unwrap_or_default();
    table.note(&format!(
        "{}: {} requests in {} s, a server killed and started again half-way, {} sent again \
         ({before} before), the slowest answered after {} ms",
        database.kind,
        answered.len(),
        time.as_secs(),
        repeated(&clients) - before,
        slowest.as_millis(),
    ));
    let report = check::read_back(&clients, &addresses).await;
    table.note(&format!("{}: {report}", database.kind));
    drop(servers);
    database.clear().await;
    report.is_correct()
}
