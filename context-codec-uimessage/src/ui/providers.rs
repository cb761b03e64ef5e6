//! `providerMetadata`: an object of providers and their values for a part. Values that the codecs
//! of these providers read are moved to the metadata keys of those codecs, and back.

use std::sync::LazyLock;

use context_codec_kit::wire::from_map;
use context_core::base::JsonMap;
use context_core::{Json, Metadata};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::form::{Entries, json};
use super::part_entries::part_entries;

/// The key in texts, thoughts and media.
pub(super) const OF_PART: &str = "providerMetadata";
/// The key in calls.
pub(super) const OF_CALL: &str = "callProviderMetadata";

/// A provider, the name of a value in its object, and the metadata key under which the provider's
/// codec reads the value.
const FACTS: [(&str, &str, &str); 2] =
    [("google", "thoughtSignature", "gemini.thought_signature"), ("openai", "itemId", "openai.id")];

/// A provider's value: provider, name, value.
pub(super) type Fact<'a> = (&'a str, &'static str, &'a RawValue);

/// Returns the values in a part's metadata that belong to a provider.
pub(super) fn facts(metadata: &Metadata) -> Vec<Fact<'_>> {
    if metadata.is_empty() {
        return Vec::new();
    }
    let fact = |&(provider, name, key): &(&'static str, &'static str, &str)| {
        let value = metadata.get(key).filter(|json| json.as_str().starts_with('"'))?;
        Some((provider, name, value.as_raw()))
    };
    FACTS.iter().filter_map(fact).collect()
}

/// Returns the other keys of a part, in the order in which they are written. Each value under `key`
/// is offered to `take`, a function of provider, name and value that returns whether it used the
/// value, and is moved to `metadata` according to [`FACTS`].
pub(super) fn rest(
    entries: &Entries<'_>,
    known: &[&str],
    key: &str,
    metadata: &mut Metadata,
    mut take: impl FnMut(&str, &str, &RawValue) -> bool,
) -> JsonMap {
    let others = entries.iter().filter(|(name, _)| !known.contains(name));
    let mut rest: JsonMap = others.map(|(name, value)| (name.to_owned(), json(value))).collect();
    let Some(providers) = entries.get(key).and_then(Entries::maybe) else { return rest };
    let (mut remaining, mut took) = (JsonMap::default(), false);
    for (provider, value) in providers.iter() {
        let mut known = Vec::new();
        let values = Entries::maybe(value).unwrap_or_default();
        for (name, value) in values.iter().filter(|(_, value)| value.get().starts_with('"')) {
            let fact = FACTS.iter().find(|fact| (fact.0, fact.1) == (provider, name));
            if take(provider, name, value) {
                known.push(name);
            } else if let Some((.., key)) = fact {
                metadata.insert(*key, json(value));
                known.push(name);
            }
        }
        took |= !known.is_empty();
        let left_of = if known.is_empty() { Some(json(value)) } else { values.rest(&known) };
        remaining.extend(left_of.map(|value| (provider.to_owned(), value)));
    }
    if took {
        rest.shift_remove(key);
        if !remaining.is_empty() {
            rest.insert(key.to_owned(), from_map(&remaining));
        }
    }
    rest
}

/// Writes `key` with the rest of it that is kept in a part's metadata, and with facts.
pub(super) fn write<S: Serializer>(
    map: &mut S::SerializeMap,
    key: &'static str,
    metadata: &Metadata,
    facts: &[Fact<'_>],
) -> Result<(), S::Error> {
    let part = part_entries(metadata);
    let remaining = part.get(key).and_then(Entries::maybe).unwrap_or_default();
    map.serialize_entry(key, &ProviderMetadata { remaining, facts })
}

/// The values of all providers.
struct ProviderMetadata<'a> {
    remaining: Entries<'a>,
    facts: &'a [Fact<'a>],
}

impl Serialize for ProviderMetadata<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (provider, value) in self.remaining.iter() {
            match Entries::maybe(value) {
                Some(remaining) => map.serialize_entry(
                    provider,
                    &ProviderValues { provider, remaining, facts: self.facts },
                )?,
                None => map.serialize_entry(provider, value)?,
            }
        }
        for (index, (provider, ..)) in self.facts.iter().enumerate() {
            let is_new = self.remaining.value(provider).is_none();
            if is_new && self.facts[..index].iter().all(|(before, ..)| before != provider) {
                map.serialize_entry(
                    provider,
                    &ProviderValues { provider, remaining: Entries::default(), facts: self.facts },
                )?;
            }
        }
        map.end()
    }
}

/// The values of one provider.
struct ProviderValues<'a> {
    provider: &'a str,
    remaining: Entries<'a>,
    facts: &'a [Fact<'a>],
}

impl Serialize for ProviderValues<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let facts = || self.facts.iter().filter(|(provider, ..)| *provider == self.provider);
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in self.remaining.iter() {
            if facts().all(|(_, provider, _)| *provider != name) {
                map.serialize_entry(name, value)?;
            }
        }
        for (_, name, value) in facts() {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// Returns the metadata of a part whose only other key is the state `done`, like nearly all parts;
/// created once.
pub(super) fn done() -> Metadata {
    static DONE: LazyLock<Metadata> = LazyLock::new(|| {
        let done = context_codec_kit::wire::object([("state", "done".into())]);
        Metadata::default().with(super::PART_KEY, done)
    });
    DONE.clone()
}

/// Returns the metadata of a part with these other keys.
pub(super) fn with_rest(mut metadata: Metadata, rest: &JsonMap) -> Metadata {
    let is_done = |(key, value): (&String, &Json)| key == "state" && value.as_str() == r#""done""#;
    if metadata.is_empty() && rest.len() == 1 && rest.iter().all(is_done) {
        return done();
    }
    if !rest.is_empty() {
        metadata.insert(super::PART_KEY, from_map(rest));
    }
    metadata
}

/// Returns a string as JSON.
pub(super) fn string(text: &str) -> Json {
    Json::from(text)
}
