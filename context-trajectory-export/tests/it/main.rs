//! Tests of the exporters through their public API.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod export;
mod otlp_import;
mod peer;
