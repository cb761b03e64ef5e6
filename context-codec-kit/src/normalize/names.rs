//! Normalization of call ids and tool names.
//!
//! A legal, unused id is kept. Any other id is derived from the original by a fixed rule, so that
//! it is the same each time, and so that no two calls share an id.

use std::borrow::Cow;
use std::collections::HashSet;

use super::HistoryRules;

/// An allocator of unique ids.
#[derive(Debug, Default)]
pub(super) struct Ids<'a> {
    used: HashSet<Cow<'a, str>>,
}

impl<'a> Ids<'a> {
    /// Creates an allocator for about this many calls.
    pub(super) fn of(calls: usize) -> Self {
        Self { used: HashSet::with_capacity(calls) }
    }

    /// Returns the id under which a call is sent. A call without an id gets one from its
    /// `position`, that is, its message and part.
    pub(super) fn assign(
        &mut self,
        id: &'a str,
        position: (usize, usize),
        rules: &HistoryRules,
    ) -> Cow<'a, str> {
        let id = match id.trim().is_empty() {
            true => Cow::Owned(format!("call_{}_{}", position.0, position.1)),
            false => allowed(id, rules.any_id, "", rules.max_id_len),
        };
        let id = match self.used.contains(&id) {
            true => self.numbered(&id, rules.max_id_len),
            false => id,
        };
        self.used.insert(id.clone());
        id
    }

    /// Returns the first free id of `id_2`, `id_3`, ….
    fn numbered(&self, id: &str, max: usize) -> Cow<'a, str> {
        let mut number = 2_usize;
        loop {
            let suffix = format!("_{number}");
            let room = max.saturating_sub(suffix.len());
            let candidate = Cow::Owned(format!("{}{suffix}", cut(id, room)));
            if !self.used.contains(&candidate) {
                return candidate;
            }
            number += 1;
        }
    }
}

/// Returns whether a call may be sent under its own id, provided that no other call has it.
pub(super) fn is_legal_id(id: &str, rules: &HistoryRules) -> bool {
    !id.trim_start().is_empty()
        && matches!(allowed(id, rules.any_id, "", rules.max_id_len), Cow::Borrowed(_))
}

/// Returns the legal name of a tool.
pub(super) fn name<'a>(name: &'a str, rules: &HistoryRules) -> Cow<'a, str> {
    if name.trim().is_empty() {
        return Cow::Borrowed("unnamed");
    }
    let is_first = |c: char| c.is_ascii_alphabetic() || c == '_';
    if rules.name_begins_with_letter && !name.starts_with(is_first) {
        let name = allowed(&format!("_{name}"), false, rules.name_characters, rules.max_name_len)
            .into_owned();
        return Cow::Owned(name);
    }
    allowed(name, false, rules.name_characters, rules.max_name_len)
}

/// Replaces illegal characters by `_`. A text that is too long is truncated and ends with a hash of
/// the whole text, so that two long texts with the same beginning stay different.
fn allowed<'a>(text: &'a str, any: bool, besides: &str, max: usize) -> Cow<'a, str> {
    let is_allowed =
        |c: char| any || c.is_ascii_alphanumeric() || matches!(c, '_' | '-') || besides.contains(c);
    let fits = text.len() <= max || text.chars().nth(max).is_none();
    if fits && (any || text.chars().all(is_allowed)) {
        return Cow::Borrowed(text);
    }
    let mut legal: String = text.chars().map(|c| if is_allowed(c) { c } else { '_' }).collect();
    if !fits {
        let digest = blake3::hash(text.as_bytes()).to_hex();
        let digest = format!("_{}", &digest[..12]);
        legal = format!("{}{digest}", cut(&legal, max.saturating_sub(digest.len())));
    }
    Cow::Owned(legal)
}

/// Returns the first `max` characters.
fn cut(text: &str, max: usize) -> &str {
    text.char_indices().nth(max).map_or(text, |(end, _)| &text[..end])
}
