//! Tests of portraits: requests, their content, and outcomes.

mod failures;
mod painter;
mod prompts;
mod schedule;
