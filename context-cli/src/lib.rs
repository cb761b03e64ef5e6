//! The `context` command: looks into a store of chats and changes it, from a terminal or a script.
//!
//! Everything it does goes through `context-runtime`; nothing here knows a backend. Each command is
//! a module with its arguments, its JSON record and its text form. With `--json` a command writes
//! one record per line, each with a `v` field that grows when the record changes its meaning;
//! errors are one line on standard error: `{"error": {"kind": …, "message": …, "context": {…}}}`.
//! Exit status 2 is wrong usage, 130 an interrupt, 1 any other failure.

mod app;
mod cli;
#[cfg(test)]
#[path = "../tests/cli/command_table.rs"]
mod command_table;
mod commands;
mod drawing;
mod error;
mod input;
mod output;
mod progress;
mod run;
#[cfg(test)]
mod scene;
mod text;
mod transcript;

pub use run::{run, run_with};
