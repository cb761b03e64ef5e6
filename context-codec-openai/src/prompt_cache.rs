//! The settings of the prompt cache in both forms: its key, and how long its entries live.

use std::time::Duration;

use context_core::base::{DiagnosticCode, Severity};
use context_core::{Diagnostic, ModelRequest};

pub(crate) const KEY: &str = "prompt_cache_key";
pub(crate) const RETENTION: &str = "prompt_cache_retention";

/// Maximum length of a key in characters.
const MAX_KEY: usize = 64;
const IN_MEMORY: (&str, Duration) = ("in_memory", Duration::from_secs(300));
const DAY: (&str, Duration) = ("24h", Duration::from_secs(86_400));

/// Returns the lifetime that a body asks for.
pub(crate) fn lifetime(retention: &str) -> Option<Duration> {
    [IN_MEMORY, DAY].into_iter().find(|(name, _)| *name == retention).map(|(_, lifetime)| lifetime)
}

/// Returns the retention of a request, if it names a lifetime.
pub(crate) fn retention(request: &ModelRequest) -> Option<&'static str> {
    let lifetime = request.cache_lifetime?;
    Some(if lifetime <= IN_MEMORY.1 { IN_MEMORY.0 } else { DAY.0 })
}

/// Returns the key of a request, if it is one that the provider takes.
pub(crate) fn key(request: &ModelRequest) -> Option<&str> {
    request.cache_key.as_deref().filter(|key| !is_too_long(key))
}

/// Returns a diagnostic for a key that is not sent.
pub(crate) fn unsent_key(request: &ModelRequest) -> Option<Diagnostic> {
    request.cache_key.as_deref().filter(|key| is_too_long(key))?;
    let reason = format!("left out: the provider takes a key of {MAX_KEY} characters at most");
    let code = DiagnosticCode::Unrepresentable;
    Some(Diagnostic::new(code, Severity::Warning, "cache_key", reason))
}

fn is_too_long(key: &str) -> bool {
    key.chars().nth(MAX_KEY).is_some()
}
