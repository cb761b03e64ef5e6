//! Tests of the policy: the messages left out, the messages that stay, and the text of gaps.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod fitting;
mod helpers;
mod pairs;
mod properties;
mod turns;
