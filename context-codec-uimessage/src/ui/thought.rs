//! Reasoning parts: the signature and the encrypted thought are in `providerMetadata`, under a name
//! that depends on the provider.

use context_core::message::Reasoning;
use context_core::model::WireError;
use context_core::{Metadata, Part};
use serde::ser::{SerializeMap, Serializer};

use super::form::{Entries, JsonPath, text};
use super::part_entries::others;
use super::providers::{self, OF_PART};

const KNOWN: [&str; 2] = ["type", "text"];
/// Providers whose name here differs from the name of the codec of their thoughts.
const NAMES: [(&str, &str); 2] = [("google", "gemini"), ("openai", "openai-responses")];

/// Returns a provider's names for the signature and the encrypted thought.
fn names(provider: &str) -> (&'static str, &'static str) {
    match provider {
        "google" | "vertex" => ("thoughtSignature", "encryptedThought"),
        "openai" | "azure" => ("signature", "reasoningEncryptedContent"),
        _ => ("signature", "redactedData"),
    }
}

/// Lifts a reasoning part, including the fields of version 4.
pub(super) fn lift(part: &Entries<'_>, path: &JsonPath<'_>) -> Result<Part, WireError> {
    let thought_text = match (part.text("text", path)?, part.maybe_text("reasoning")) {
        (Some(text), _) | (None, Some(text)) => text,
        (None, None) => part.need_text("text", path)?,
    };
    let mut thought = Reasoning { text: thought_text.into(), ..Reasoning::default() };
    let mut metadata = Metadata::default();
    let rest = providers::rest(part, &KNOWN, OF_PART, &mut metadata, |provider, name, value| {
        let called =
            NAMES.iter().find(|(here, _)| *here == provider).map_or(provider, |(_, codec)| codec);
        // Of several providers, the first that signed counts.
        if thought.provider.as_deref().is_some_and(|taken| taken != called) {
            return false;
        }
        let (signature, encrypted) = names(provider);
        let field = match name {
            name if name == signature => &mut thought.signature,
            name if name == encrypted => &mut thought.encrypted,
            _ => return false,
        };
        *field = text(value).map(Into::into);
        thought.provider = Some(called.to_owned());
        true
    });
    thought.metadata = providers::with_rest(metadata, &rest);
    Ok(Part::Reasoning(thought))
}

/// Writes the entries of a reasoning part.
pub(super) fn write<S: Serializer>(
    thought: &Reasoning,
    map: &mut S::SerializeMap,
) -> Result<(), S::Error> {
    map.serialize_entry("type", "reasoning")?;
    map.serialize_entry("text", &thought.text)?;
    let mut facts = providers::facts(&thought.metadata);
    let written =
        [&thought.signature, &thought.encrypted].map(|text| text.as_deref().map(providers::string));
    if let Some(provider) = thought.provider.as_deref() {
        let provider =
            NAMES.iter().find(|(_, codec)| *codec == provider).map_or(provider, |(here, _)| here);
        let (signature, encrypted) = names(provider);
        for (name, value) in [signature, encrypted].into_iter().zip(&written) {
            facts.extend(value.as_ref().map(|value| (provider, name, value.as_raw())));
        }
    }
    if facts.is_empty() {
        return others::<S>(map, &thought.metadata, &KNOWN);
    }
    others::<S>(map, &thought.metadata, &[KNOWN[0], KNOWN[1], OF_PART])?;
    providers::write::<S>(map, OF_PART, &thought.metadata, &facts)
}
