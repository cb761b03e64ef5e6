//! Reading JSON values in place, without copying. Paths are any type with `Display`, so that
//! composing one costs nothing unless there is an error.

use std::borrow::Cow;
use std::fmt::Display;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{kind_of, read, text_of_str};
use context_core::model::WireError;
use context_core::{Json, JsonString};

/// A key of an object, borrowed if it has no escapes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Key<'a>(#[serde(borrow)] pub Cow<'a, str>);

impl std::borrow::Borrow<str> for Key<'_> {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// The entries of an object, in order. Of duplicate keys the last value counts.
pub type Entries<'a> = IndexMap<Key<'a>, &'a RawValue>;

/// Deserializes the object at `path` as `T`, which borrows from it. For types with a field for
/// every relevant key. Fields of type `Option<&RawValue>` keep values verbatim and treat null as
/// `None`.
pub fn read_object<'a, T: Deserialize<'a>>(
    raw: &'a RawValue,
    path: &(impl Display + ?Sized),
) -> Result<T, WireError> {
    read_kind(raw, path, "an object")
}

/// Reads the list at `path`.
pub fn read_list<'a>(
    raw: &'a RawValue,
    path: &(impl Display + ?Sized),
) -> Result<Vec<&'a RawValue>, WireError> {
    read_kind(raw, path, "a list")
}

/// Reads the text at `path`, borrowed if it has no escapes. A lone surrogate becomes U+FFFD.
pub fn read_text<'a>(
    raw: &'a RawValue,
    path: &(impl Display + ?Sized),
) -> Result<Cow<'a, str>, WireError> {
    raw_text(raw).ok_or_else(|| wrong_type_of(raw, path, "a string"))
}

/// Takes over the text of a string, which is copied as it stands. `None` for any other value. A
/// lone surrogate becomes U+FFFD.
pub fn json_string(raw: &RawValue) -> Option<JsonString> {
    JsonString::from_raw(raw).or_else(|| raw_text(raw).map(Into::into))
}

/// Returns the text of a string, borrowed if it has no escapes. `None` for any other value. A lone
/// surrogate becomes U+FFFD.
pub fn raw_text(raw: &RawValue) -> Option<Cow<'_, str>> {
    let inner = raw.get().strip_prefix('"')?.strip_suffix('"')?;
    if inner.as_bytes().contains(&b'\\') {
        return unescaped(inner).or_else(|| text_of_str(raw.get())).map(Cow::Owned);
    }
    Some(Cow::Borrowed(inner))
}

/// Resolves the escapes between the quotes of a string, if all of them are short ones.
fn unescaped(mut inner: &str) -> Option<String> {
    let mut out = String::with_capacity(inner.len());
    while let Some((before, escape)) = inner.split_once('\\') {
        out.push_str(before);
        out.push(match escape.as_bytes().first()? {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            _ => return None,
        });
        inner = &escape[1..];
    }
    out.push_str(inner);
    Some(out)
}

/// Creates the error for a value whose type the form does not allow.
pub fn wrong_type_of(
    raw: &RawValue,
    path: &(impl Display + ?Sized),
    expected: &'static str,
) -> WireError {
    WireError::WrongType { path: path.to_string(), expected, found: raw_kind(raw) }
}

/// Returns a human-readable name of a value's type.
pub fn raw_kind(raw: &RawValue) -> &'static str {
    kind_of(raw.get())
}

/// Returns a compact copy of a value, for keeping.
pub fn kept(raw: &RawValue) -> Json {
    Json::from(raw.to_owned()).compact()
}

/// The path is formatted only if there is an error.
fn read_kind<'a, T: Deserialize<'a>>(
    raw: &'a RawValue,
    path: &(impl Display + ?Sized),
    expected: &'static str,
) -> Result<T, WireError> {
    if raw_kind(raw) != expected {
        return Err(wrong_type_of(raw, path, expected));
    }
    serde_json::from_str(raw.get()).or_else(|_| read(raw.get(), &path.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_as_they_are_by_any_reader() {
        for json in
            [r#""a""#, r#""\"\\\/\b\f\n\r\t é""#, r#""\u00e9\n""#, r#""\\u0041""#, "1", "[\"a\"]"]
        {
            let raw: &RawValue = serde_json::from_str(json).unwrap();
            let expected = serde_json::from_str::<String>(json).ok();
            assert_eq!(raw_text(raw).map(Cow::into_owned), expected, "{json}");
        }
    }
}
