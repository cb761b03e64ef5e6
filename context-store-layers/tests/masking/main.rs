//! Tests of the masking layer.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[path = "../../../context-secrets/tests/it/corpus.rs"]
mod corpus;
mod everywhere;
mod fixture;
mod options;
mod streams;
