//! Text of others as people are shown it: names and messages that cannot forge a line, take over a
//! terminal or hide.

pub use context_core::base::shown::{clean, clean_lines, is_hidden};
