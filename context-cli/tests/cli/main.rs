//! Tests of the executable on real files, for people and for scripts.

mod as_of;
mod command_table;
#[cfg(unix)]
mod completing;
#[cfg(unix)]
mod confirming;
#[cfg(unix)]
mod container;
mod copying;
mod data;
mod doctor;
mod errors;
mod files;
mod folders;
mod forms;
mod harness;
mod inspector;
#[cfg(unix)]
mod install;
#[cfg(unix)]
mod interrupt;
mod json;
mod keeping;
#[cfg(unix)]
mod keys;
mod lines;
mod lossless;
mod mcp;
mod memory;
mod models;
#[cfg(unix)]
mod newcomer;
mod older_servers;
mod operator;
mod others_data;
mod others_servers;
mod others_sessions;
mod patterns;
mod repairing;
mod runs;
mod scale;
mod serve;
#[cfg(unix)]
mod serve_killed;
#[cfg(unix)]
mod served;
mod server_fixture;
#[cfg(unix)]
mod stumbles;
#[cfg(unix)]
mod terminal;
mod trees;
mod unknown;
mod watching;
#[cfg(unix)]
mod watching_live;
mod workspaces;
