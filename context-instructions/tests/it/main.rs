//! Tests of the public API over real folders.

mod skills;
