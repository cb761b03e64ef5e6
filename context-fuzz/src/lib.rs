//! Every parser of outside input that takes plain bytes, asked with any of them. For tests alone.
//!
//! A [`Target`] hands bytes to one parser and panics where a promise is broken: no input makes the
//! parser panic, and what it takes is the same when it is written and read again. Time and memory
//! are bounded by whoever runs it.
//!
//! Three things run the same targets: the tests of this crate, with real documents and a few
//! hundred damaged ones each; `cargo xtask fuzz`, for minutes and led by what was reached; and the
//! first of them again for what the second found.
//!
//! Not here: parsers that need more than bytes, such as a whole store or keys. They have properties
//! in the tests of their own crates, and `cargo xtask fuzz` runs those as well.

mod scratch;
mod target;
mod targets;

pub use target::{TARGETS, Target, target};
