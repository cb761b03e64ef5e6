//! Memory in an agent's turns: what the model is shown, how faults affect a turn, and what outlives
//! a killed process.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod faults;
mod process_kill;
mod prompt;
