//! Torture tests of the `context` command: damaged files, killed writers, full disks, hostile names
//! and documents. `cargo xtask torture` runs them.
//!
//! A part is a function in [`parts`]. Its checks are numbered. Each check depends only on the seed
//! and its number, so that it can be repeated alone. Most commands run in this process, many per
//! second. A worker is a process that runs a range of checks under a memory limit. It prints a line
//! per check, and counts as hanging if it prints nothing for too long.

pub mod command;
pub mod damage;
pub mod parts;
pub mod random;
pub mod scene;
pub mod settings;
mod table;
pub mod tally;
pub mod worker;
