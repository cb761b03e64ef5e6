//! The mark that takes the place of a secret.

use std::ops::Range;

use crate::kind::{SecretKind, is_name};

const OPEN: &str = "[secret:";

/// Appends the mark of a kind.
pub(crate) fn push(out: &mut String, kind: &SecretKind) {
    out.push_str(OPEN);
    out.push_str(kind.as_str());
    out.push(']');
}

/// Returns the mark of a kind, such as `[secret:github-token]`.
pub fn mark(kind: &SecretKind) -> String {
    let mut out = String::new();
    push(&mut out, kind);
    out
}

/// Returns the ranges of all marks in a text, in order.
pub(crate) fn all(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for (start, _) in text.match_indices(OPEN) {
        let rest = &text.as_bytes()[start + OPEN.len()..];
        let rest = &rest[..rest.len().min(SecretKind::MAX_BYTES + 1)];
        let Some(length) = rest.iter().position(|byte| *byte == b']') else { continue };
        let name = &text[start + OPEN.len()..start + OPEN.len() + length];
        if is_name(name) {
            found.push(start..start + OPEN.len() + length + 1);
        }
    }
    found
}
