//! The checker of requests: what it accepts, what it refuses, and that it is never laxer than the
//! official types.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may fail and say why")]

mod data;
mod differential;
mod mutate;
mod recorded;
mod round_trips;
