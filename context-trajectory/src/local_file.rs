//! Whole files of trajectories: read up to a limit, written completely or not at all.

pub use crate::journal::{failed, read_whole, write_new};
