//! Tests of portraits: requests, their content, and outcomes.

mod failures;
mod model;
mod prompts;
mod schedule;
