//! Safe display of untrusted text: names and messages cannot forge a line, control a terminal, or
//! hide.

pub use context_core::base::display::{clean, clean_lines, is_hidden, preview};
