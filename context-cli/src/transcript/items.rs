//! Lists in files, read up to a limit.

use std::fmt;

use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::error::Failure;
use crate::input::Input;

/// The most lines or list entries that are read from a file. A message takes about a kibibyte of
/// memory in addition to its text.
pub(super) const MAX_ITEMS: usize = 1_000_000;

/// Returns the error for a file with more.
pub(super) fn too_many(input: &Input) -> Failure {
    Failure::TooMany { file: input.shown.clone(), limit: MAX_ITEMS }
}

/// Returns the entries of a list.
pub(super) fn items<'a>(input: &Input, list: &'a RawValue) -> Result<Vec<&'a RawValue>, Failure> {
    let items = up_to(list, MAX_ITEMS + 1).map_err(|error| input.syntax(list.get(), error))?;
    if items.len() > MAX_ITEMS {
        return Err(too_many(input));
    }
    Ok(items)
}

/// Returns the first `most` entries of a list. The whole list must be valid JSON.
pub(super) fn up_to(list: &RawValue, most: usize) -> Result<Vec<&RawValue>, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(list.get());
    reader.deserialize_seq(UpTo(most))
}

struct UpTo(usize);

impl<'de> Visitor<'de> for UpTo {
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
