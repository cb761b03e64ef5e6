//! Fuzz targets for every parser of external input that takes plain bytes. For tests only.
//!
//! A [`FuzzTarget`] passes bytes to one parser and panics if the parser breaks a guarantee: no
//! input makes the parser panic, and an accepted input is the same when it is written and read
//! again. The caller has to bound time and memory.
//!
//! Three programs use the same targets. The tests of this crate run them with real documents and a
//! few hundred damaged ones each. `cargo xtask fuzz` runs them for minutes, guided by coverage.
//! Findings of the fuzzer become tests of this crate.
//!
//! Parsers that need more than bytes, such as a whole store or keys, are not here. They have
//! property tests in their own crates, which `cargo xtask fuzz` runs as well.

mod corpus;
mod scratch;
mod target;
mod targets;

pub use target::{FuzzTarget, TARGETS, target};
