//! The tests of this crate.

#![allow(clippy::unwrap_used, reason = "tests")]

mod cache;
mod cache_rules;
mod calibration;
mod estimate;
mod images;
mod modalities;
mod models;
mod vectors;
mod vocabulary;
