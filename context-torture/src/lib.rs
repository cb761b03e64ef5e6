//! What nobody should do to the `context` command, done to it: files damaged, writers killed, disks
//! filled, names and documents that are hostile. `cargo xtask torture` runs it.
//!
//! A part is a function in [`parts`]; its checks are numbered, and each is made of the seed and its
//! number alone, so that one can be repeated. Most commands run in this process, many to a second.
//! A worker is a process that does a range of checks under a limit of memory; it says a line for
//! each, and one that says nothing for too long hangs.

pub mod command;
pub mod damage;
pub mod parts;
pub mod random;
pub mod scene;
pub mod settings;
mod table;
pub mod tally;
pub mod worker;
