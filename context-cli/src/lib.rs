//! The `context` command: inspects and changes a store of chats, from a terminal or a script.
//!
//! Everything goes through `context-runtime`, and no code here knows a backend. Each command is a
//! module with its arguments, its JSON record and its text form. With `--json` a command writes one
//! record per line. Each record has a version field `v`, which grows when the record changes its
//! meaning. Errors are one line on standard error:
//! `{"error": {"kind": …, "message": …, "context": {…}}}`. Exit status 2 means wrong usage, 130 an
//! interrupt, 1 any other failure.

mod app;
mod cli;
#[cfg(test)]
#[path = "../tests/cli/command_table.rs"]
mod command_table;
mod commands;
mod completion;
mod config;
mod error;
mod file_format;
mod help;
mod input;
mod missing;
mod near_names;
mod output;
mod progress;
mod run;
#[cfg(test)]
mod scene;
mod sessions;
mod settings;
mod store_keys;
mod table;
mod text;

pub use run::{main_with, run_with};
