//! The real executable on real files: what an operator sees, and what a script reads.

mod data;
mod errors;
mod files;
mod harness;
mod json;
mod lines;
mod operator;
mod trees;
