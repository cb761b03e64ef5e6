//! Lists in files, read up to a limit.

use std::fmt;

use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::{FileText, TranscriptError};

/// The most lines or list entries that are read from a file. A message takes about a kibibyte of
/// memory in addition to its text.
pub(crate) const MAX_ITEMS: usize = 1_000_000;

/// Returns the error for a file with more than [`MAX_ITEMS`] lines or entries.
pub(crate) fn too_many(file: &FileText) -> TranscriptError {
    TranscriptError::TooMany { file: file.shown().to_owned(), limit: MAX_ITEMS }
}

/// Returns the entries of a list.
pub(crate) fn items<'a>(
    file: &FileText,
    list: &'a RawValue,
) -> Result<Vec<&'a RawValue>, TranscriptError> {
    let items =
        first_entries(list, MAX_ITEMS + 1).map_err(|error| file.syntax_error(list.get(), error))?;
    if items.len() > MAX_ITEMS {
        return Err(too_many(file));
    }
    Ok(items)
}

/// Returns the first `most` entries of a list. The whole list must be valid JSON.
pub(crate) fn first_entries(
    list: &RawValue,
    most: usize,
) -> Result<Vec<&RawValue>, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(list.get());
    reader.deserialize_seq(FirstEntries(most))
}

struct FirstEntries(usize);

impl<'de> Visitor<'de> for FirstEntries {
    type Value = Vec<&'de RawValue>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        while items.len() < self.0 {
            let Some(item) = list.next_element()? else { return Ok(items) };
            items.push(item);
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(items)
    }
}
