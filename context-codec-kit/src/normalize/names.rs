//! Ids of calls and names of tools as a provider takes them.
//!
//! An id that is allowed and new stays. Any other is made from it by rule, so that it is the same
//! each time, and so that no two calls have one id.

use std::borrow::Cow;
use std::collections::HashSet;

use super::HistoryRules;

/// Hands out ids.
#[derive(Debug, Default)]
pub(super) struct Ids<'a> {
    used: HashSet<Cow<'a, str>>,
}

impl<'a> Ids<'a> {
    /// For about so many calls.
    pub(super) fn of(calls: usize) -> Self {
        Self { used: HashSet::with_capacity(calls) }
    }

    /// The id under which a call is sent. `place` names a call that has none: its message and part.
    pub(super) fn assign(
        &mut self,
        id: &'a str,
        place: (usize, usize),
        rules: &HistoryRules,
    ) -> Cow<'a, str> {
        let id = match id.trim().is_empty() {
            true => Cow::Owned(format!("call_{}_{}", place.0, place.1)),
            false => allowed(id, rules.any_id, "", rules.max_id_len),
        };
        let id = match self.used.contains(&id) {
            true => self.numbered(&id, rules.max_id_len),
            false => id,
        };
        self.used.insert(id.clone());
        id
    }

    /// The first of `id_2`, `id_3`, … that is free.
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

/// Whether a call may be sent under its own id, if no other call has it.
pub(super) fn is_legal_id(id: &str, rules: &HistoryRules) -> bool {
    !id.trim_start().is_empty()
        && matches!(allowed(id, rules.any_id, "", rules.max_id_len), Cow::Borrowed(_))
}

/// The name under which a tool is called.
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

/// The text with `_` for what is not allowed. What is too long ends with a digest of the whole, so
/// that two long texts with one beginning stay apart.
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

/// The first `max` characters.
fn cut(text: &str, max: usize) -> &str {
    text.char_indices().nth(max).map_or(text, |(end, _)| &text[..end])
}
