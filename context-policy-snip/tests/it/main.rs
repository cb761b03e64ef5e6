//! What is left out, what stays, and what says so.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod fitting;
mod helpers;
mod pairs;
mod properties;
mod turns;
