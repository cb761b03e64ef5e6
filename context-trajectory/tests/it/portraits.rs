//! Portraits: who is asked, what they see, what becomes of it.

mod failures;
mod painter;
mod prompts;
mod schedule;
