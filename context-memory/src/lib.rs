//! Providers of memories: what is worth remembering comes back, and only to whom it belongs.

pub mod words;
