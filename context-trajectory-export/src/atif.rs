//! ATIF, the Agent Trajectory Interchange Format of Harbor. Written as version 1.7, read in any
//! version 1.

mod error;
mod form;
mod importer;
mod read;
mod write;

pub use error::AtifError;
pub use read::read_atif;
pub use write::{AtifOptions, write_atif};
