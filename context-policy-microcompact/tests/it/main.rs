//! Which results are shortened, how, and what stays.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod bounds;
mod clearing;
mod helpers;
mod media;
mod properties;
mod which;
