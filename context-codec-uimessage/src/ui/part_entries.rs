//! Keys of a part that no canonical field holds: kept in its metadata, and written again.

use context_core::Metadata;
use serde::ser::{SerializeMap, Serializer};

use super::PART_KEY;
use super::form::Entries;

/// Returns the other keys of the part that has this metadata.
pub(super) fn part_entries(metadata: &Metadata) -> Entries<'_> {
    Entries::of(metadata.get(PART_KEY))
}

/// Writes the other keys of a part, except those that are already written.
pub(super) fn others<S: Serializer>(
    map: &mut S::SerializeMap,
    metadata: &Metadata,
    written: &[&str],
) -> Result<(), S::Error> {
    let Some(part_entries) = metadata.get(PART_KEY) else { return Ok(()) };
    // The usual case, which need not be parsed.
    if part_entries.as_str() == r#"{"state":"done"}"# && !written.contains(&"state") {
        return map.serialize_entry("state", "done");
    }
    for (key, value) in Entries::of(Some(part_entries)).iter() {
        if !written.contains(&key) {
            map.serialize_entry(key, value)?;
        }
    }
    Ok(())
}
