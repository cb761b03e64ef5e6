//! Access to JSON values whose text is kept.

use std::collections::HashMap;

use serde_json::value::RawValue;

/// The entries of an object by key.
pub(crate) type Entries<'a> = HashMap<String, &'a RawValue>;

/// Returns the first character of a value, such as `{` or `[`.
pub(crate) fn first(raw: &RawValue) -> char {
    raw.get().chars().next().unwrap_or_default()
}

/// Returns the entries of an object, or `None` for any other value.
pub(crate) fn entries(raw: &RawValue) -> Option<Entries<'_>> {
    if first(raw) != '{' {
        return None;
    }
    serde_json::from_str(raw.get()).ok()
}

/// Returns the value of a key of an object, if it starts with this character.
pub(crate) fn value_of<'a>(raw: &'a RawValue, key: &str, begins: char) -> Option<&'a RawValue> {
    entries(raw)?.remove(key).filter(|value| first(value) == begins)
}

/// Returns the text of a value that is a string.
pub(crate) fn text_of(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).ok()
}
