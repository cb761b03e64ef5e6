//! `cargo xtask bench scale`: what a PostgreSQL store costs as it grows, up to millions of messages
//! of a hundred thousand users.
//!
//! The store is filled through its own interface, in commits of whole chats. At each size, tasks
//! that open an engine for each turn are timed, and so are opening a chat, listing the chats of a
//! user and a vacuum. Bytes are those that the server counts for tables, indexes and what is stored
//! beside tables.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program that measures, not a library"
)]

#[allow(dead_code, reason = "not every program does all of it")]
#[path = "../shared/bare_servers.rs"]
mod bare_servers;
#[allow(dead_code, reason = "not every program does all of it")]
#[path = "../shared/data.rs"]
mod data;
mod fill;
mod measure;
mod space;
#[allow(dead_code, reason = "not every program does all of it")]
#[path = "../shared/usage.rs"]
mod usage;

use clap::Parser;
use fill::Filling;
use measure::Figures;

/// Fills a PostgreSQL store and measures it at several sizes.
///
/// The server is started by `cargo xtask`, or named in CONTEXT_TEST_POSTGRES_URL. Everything is
/// removed at the end. A million messages of 400 bytes take about 0.8 GB.
#[derive(Parser)]
#[command(bin_name = "cargo xtask bench scale")]
struct Options {
    /// Print a JSON object per size instead of the table
    #[arg(long)]
    json: bool,
    /// Accepted for the sake of the other areas: there is no target
    #[arg(long)]
    check: bool,
    /// The sizes at which to measure, in messages, ascending
    #[arg(long, value_delimiter = ',', default_values_t = [10_000, 100_000], value_parser = number)]
    messages: Vec<usize>,
    /// The users who share the messages of the last size
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..))]
    users: u32,
    /// The messages of a chat
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    chat: u32,
    /// Options of the store's URL, for example partitions=16&full_text=on
    #[arg(long, default_value = "full_text=off")]
    store: String,
    /// Tasks that work at the same time, each with a connection
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..))]
    tasks: u32,
    /// The seconds of each timed measurement
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
    /// Added by cargo
    #[arg(long, hide = true)]
    bench: bool,
}

fn number(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| *n > 0).ok_or_else(|| "a number from 1".to_owned())
}

fn main() {
    let options = Options::parse();
    let Ok(server) = std::env::var("CONTEXT_TEST_POSTGRES_URL") else {
        println!("left out, CONTEXT_TEST_POSTGRES_URL is not set");
        return;
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(run(&options, &server));
}

async fn run(options: &Options, server: &str) {
    let schema = format!("scale_{}", std::process::id());
    let sign = if server.contains('?') { '&' } else { '?' };
    let (tasks, extra) = (options.tasks, &options.store);
    let url = format!("{server}{sign}schema={schema}&connections={tasks}&{extra}");
    let store = context_runtime::open(&url).await.unwrap();
    let bare = bare_servers::postgres(server).await;
    let last = *options.messages.last().unwrap();
    let mut filling = Filling::new(store, options.chat as usize, options.users as usize, last);
    if !options.json {
        println!("{}", Figures::HEADER);
    }
    for messages in &options.messages {
        let filled = filling.fill_up_to(*messages, options.tasks as usize).await;
        let figures = measure::measure(&filling, filled, options, &bare, &schema).await;
        if options.json {
            println!("{}", serde_json::to_string(&figures).unwrap());
        } else {
            println!("{figures}");
        }
    }
    bare_servers::clear_postgres(server, &schema).await;
}
