//! `cargo xtask bench load`: turns a second of many tasks over many chats, compared with the bare
//! driver that does the same writes with as many connections on the same server.
//!
//! A turn is what a server does for a request: it sets a question, resolves, sets the answer and
//! saves. Engines are kept, or opened for each turn and dropped. The floor inserts both messages
//! and updates the head of the chat in one transaction, after it has read the chat if ours opens an
//! engine. Each task has chats of its own, and both sides have the same chats. Rounds are paired;
//! the ratio is taken within a round.
//!
//! Both sides and the servers share the machine, so a ratio says how much CPU a turn costs in all
//! of them, plus what they wait for.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program that measures, not a library"
)]

#[path = "../shared/bare_servers.rs"]
mod bare_servers;
#[allow(dead_code, reason = "not every program does all of it")]
#[path = "../shared/data.rs"]
mod data;
mod floor;
mod options;
mod ours;
mod place;
mod run;
mod soak;
mod table;
#[path = "../shared/usage.rs"]
mod usage;

use std::sync::Arc;

use clap::Parser;
use options::{Engines, Options};
use ours::Ours;
use place::Place;
use run::Side;
use table::{Case, Table};

fn main() {
    let options = Options::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let mut table = Table::new(options.json);
    for store in &options.stores {
        match Place::new(*store, &options) {
            Ok(place) => runtime.block_on(measure(&options, &place, &mut table)),
            Err(variable) => table.note(&format!("{store}: left out, {variable} is not set")),
        }
    }
    if table.finish() && options.check {
        std::process::exit(1);
    }
}

async fn measure(options: &Options, place: &Place, table: &mut Table) {
    for full_text in &options.full_text {
        let full_text = full_text.is_on();
        if full_text && !place.store.has_search() {
            table
                .note(&format!("{}: left out with full text, which it does not have", place.store));
            continue;
        }
        for engines in &options.engines {
            let mut rates = Vec::new();
            for chats in &options.chats {
                for tasks in &options.tasks {
                    let case = Case {
                        store: place.store,
                        full_text,
                        engines: *engines,
                        chats: *chats,
                        tasks: *tasks,
                    };
                    rates.push((case, compare(options, place, case, table).await));
                }
            }
            table.flatness(&rates);
        }
    }
    place.clear().await;
}

/// Measures one case. Returns turns a second of ours.
async fn compare(options: &Options, place: &Place, case: Case, table: &mut Table) -> f64 {
    let Case { full_text, chats, .. } = case;
    let kept = case.engines == Engines::Kept;
    let ours = Ours::create(place, full_text, chats, options.messages).await;
    if kept {
        let before = usage::resident();
        ours.keep_engines().await;
        table.kept_engines(case, before, usage::resident());
    }
    let ours: Arc<dyn Side> = Arc::new(ours);
    if let Some(seconds) = options.soak {
        soak::run(&ours, options, case, seconds, table).await;
        return 0.0;
    }
    let floor = floor::create(place, full_text, !kept, chats, options.messages).await;
    let (mut of_ours, mut of_floor) = (Vec::new(), Vec::new());
    for round in 0..=options.rounds {
        for (side, rounds) in [(&ours, &mut of_ours), (&floor, &mut of_floor)] {
            let measured = run::run(side, options.mix, case, options.seconds()).await;
            if round > 0 {
                rounds.push(measured);
            }
        }
    }
    table.add(case, &of_ours, &of_floor)
}
