//! `cargo xtask bench inspector`: how long a person waits for the pages of a large chat and of a
//! long session, how smooth they scroll, and what the browser and the server keep in memory.
//!
//! `context ui` runs as its own process over a SQLite file, and a real Chromium opens its pages.
//! The targets are absolute: a person's patience does not grow with the machine. Without a browser
//! nothing is measured, which is said.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program that measures, not a library"
)]

mod data;
#[allow(dead_code, reason = "tests do more with a page")]
mod driver;
mod measure;
mod server;
mod table;

use table::Table;

const HELP: &str = "\
Measures the inspector in Chromium, over a chat and a session of this size on SQLite.

Usage: cargo xtask bench inspector [--json] [--check] [--messages N] [--rounds N]

  --json        print a JSON object per row instead of the table
  --check       exit with 1 when a target is missed
  --messages N  messages of the chat (default 100,000)
  --rounds N    rounds of the session (default 20,000)

The browser is named by CONTEXT_TEST_CHROMIUM, or found by its usual names.";

struct Options {
    json: bool,
    check: bool,
    messages: usize,
    rounds: usize,
}

impl Options {
    fn read() -> Result<Self, String> {
        let mut options = Self { json: false, check: false, messages: 100_000, rounds: 20_000 };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut number = || {
                let number = arguments.next().and_then(|n| n.parse().ok()).filter(|n| *n > 0);
                number.ok_or(format!("{argument} takes a number from 1"))
            };
            match argument.as_str() {
                "--json" => options.json = true,
                "--check" => options.check = true,
                "--messages" => options.messages = number()?,
                "--rounds" => options.rounds = number()?,
                // Added by cargo.
                "--bench" => {}
                "--help" | "-h" => {
                    println!("{HELP}");
                    std::process::exit(0);
                }
                other => return Err(format!("unknown argument {other:?}\n\n{HELP}")),
            }
        }
        Ok(options)
    }
}

fn main() {
    let options = Options::read().unwrap_or_else(|message| {
        println!("{message}");
        std::process::exit(2);
    });
    let Some(program) = driver::Browser::program() else {
        println!("nothing is measured: there is no Chromium; {} installs it", driver::INSTALL);
        return;
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let missed = runtime.block_on(run(&options, &program));
    if missed && options.check {
        std::process::exit(1);
    }
}

/// Returns whether a target was missed.
async fn run(options: &Options, program: &str) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("inspector.db").display());
    data::write_chat(&url, options.messages).await;
    let browser = driver::Browser::start(program);
    let mut table = Table::new(options.json);
    let mut server = server::Server::start(&url);
    measure::chat(&mut table, &browser, &server, options.messages).await;
    let run = format!("/chats/{}/run", data::SESSION);
    if measure::exists(&browser, &server, &format!("/chats/{}/run", data::CHAT)).await {
        drop(server);
        data::write_session(&url, options.rounds).await;
        server = server::Server::start(&url);
        measure::run(&mut table, &browser, &server, &run, options.rounds).await;
    } else {
        table.note("run: left out, the inspector has no such page");
    }
    drop(server);
    table.finish()
}
