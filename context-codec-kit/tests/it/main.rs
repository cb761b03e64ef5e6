//! Tests of the crate through its public API.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod media;
mod model_errors;
mod model_errors_properties;
mod normalize;
mod normalize_properties;
mod provider_rules;
mod sanitize;
mod sanitize_properties;
