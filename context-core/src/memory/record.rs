//! Memory records.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::base::{MemoryId, limits};
use crate::memory::{MemoryScope, Trust};
use crate::{MessageId, Metadata, Result, SessionId, Timestamp};

/// The origin of a memory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MemorySource {
    /// The session of the conversation.
    pub session: SessionId,
    /// The message. `None`: the session as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
}

impl MemorySource {
    /// Creates a source that is a whole session.
    pub fn session(session: impl Into<SessionId>) -> Self {
        Self { session: session.into(), message: None }
    }

    /// Creates a source that is one message of a session.
    pub fn message(session: impl Into<SessionId>, message: impl Into<MessageId>) -> Self {
        Self { session: session.into(), message: Some(message.into()) }
    }

    /// Returns whether `other` is equal to this source or part of it.
    pub fn covers(&self, other: &Self) -> bool {
        self.session == other.session && (self.message.is_none() || self.message == other.message)
    }

    /// Refuses invalid names.
    pub fn check(&self, operation: &'static str) -> Result<()> {
        limits::check_id(operation, "session", self.session.as_str())?;
        self.message
            .iter()
            .try_for_each(|message| limits::check_id(operation, "message", message.as_str()))
    }
}

/// A memory record. `Debug` shows no content.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MemoryRecord {
    /// The owner and place of the memory.
    pub scope: MemoryScope,
    /// The id, unique in its scope.
    pub id: MemoryId,
    /// The kind of memory, such as `episode`. Providers define the kinds.
    pub kind: String,
    /// The lookup key, if there is one. Several records may share a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The origin of the memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<MemorySource>,
    /// The speaker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speaker: Option<String>,
    /// The time when it was said.
    pub at: Timestamp,
    /// The text of the memory.
    pub text: String,
    /// Additional data of the provider.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub data: Metadata,
}

impl MemoryRecord {
    /// Creates a memory with this kind, time and text.
    pub fn new(
        scope: MemoryScope,
        id: impl Into<MemoryId>,
        kind: impl Into<String>,
        at: Timestamp,
        text: impl Into<String>,
    ) -> Self {
        let (id, kind, text) = (id.into(), kind.into(), text.into());
        Self {
            scope,
            id,
            kind,
            key: None,
            source: None,
            speaker: None,
            at,
            text,
            data: Metadata::default(),
        }
    }

    /// Returns the class of trust, if it is known: the one that was [set](Self::set_trust), else
    /// that of a speaker who is named by a role.
    pub fn trust(&self) -> Option<Trust> {
        let of_speaker = || match self.speaker.as_deref() {
            Some("tool") => Some(Trust::Foreign),
            Some("assistant") => Some(Trust::Model),
            Some("user") => Some(Trust::User),
            _ => None,
        };
        Trust::in_data(&self.data).or_else(of_speaker)
    }

    /// Sets the class of trust. The data hold it only if the speaker does not tell it.
    pub fn set_trust(&mut self, trust: Trust) {
        if self.trust() != Some(trust) {
            trust.put(&mut self.data);
        }
    }

    /// Returns the mark that a forgotten record leaves: 16 bytes of a hash of its scope and id.
    /// Neither can be read from the mark.
    pub fn mark(scope: &MemoryScope, id: &MemoryId) -> [u8; 16] {
        // The key-derivation context separates these hashes from all others.
        let mut hasher = blake3::Hasher::new_derive_key("context-core forgotten memory, form 1");
        let key = scope.key();
        hasher
            .update(&(key.len() as u64).to_le_bytes())
            .update(key.as_bytes())
            .update(id.as_str().as_bytes());
        let mut mark = [0; 16];
        hasher.finalize_xof().fill(&mut mark);
        mark
    }

    /// Refuses invalid names, and text or data over the limits.
    pub fn check(&self, operation: &'static str) -> Result<()> {
        self.scope.check(operation)?;
        limits::check_id(operation, "memory", self.id.as_str())?;
        limits::check_id(operation, "kind", &self.kind)?;
        self.key.iter().try_for_each(|key| limits::check_id(operation, "key", key))?;
        self.speaker
            .iter()
            .try_for_each(|speaker| limits::check_id(operation, "speaker", speaker))?;
        self.source.iter().try_for_each(|source| source.check(operation))?;
        limits::check_length(operation, "memory text", self.text.len(), limits::MAX_MEMORY_BYTES)
            .map_err(|error| error.with("memory", &self.id))?;
        limits::check_metadata(operation, &self.data)
    }
}

impl MemoryId {
    /// Derives an id from a kind and its parts, such as a session and a message of it. Equal inputs
    /// always give the same id, so that a memory that is captured again keeps its id; the parts may
    /// have any length. The result is the same in every process and version, because stores persist
    /// it.
    pub fn derived(kind: &str, parts: &[&str]) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("context-memory id, form 1");
        for part in std::iter::once(&kind).chain(parts) {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
        }
        let hash = hasher.finalize().to_hex();
        Self::from(&hash.as_str()[..32])
    }
}

impl fmt::Debug for MemoryRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryRecord")
            .field("scope", &self.scope)
            .field("id", &self.id)
            .field("kind", &self.kind)
            .field("source", &self.source)
            .field("at", &self.at)
            .field("text_bytes", &self.text.len())
            .finish_non_exhaustive()
    }
}

/// A stored memory record.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StoredMemory {
    /// The record.
    pub record: MemoryRecord,
    /// Number of times the record was written.
    pub version: u64,
    /// The position in the order in which a user's records were first written. Later records have
    /// higher places.
    pub place: u64,
}

impl StoredMemory {
    /// Creates a stored record with its version and place.
    pub fn new(record: MemoryRecord, version: u64, place: u64) -> Self {
        Self { record, version, place }
    }
}

/// An embedding of a text. `Debug` shows the embedder and the length.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct MemoryVector {
    /// The embedder. Vectors of different embedders are not compared.
    pub model: String,
    /// The components, all finite.
    pub values: Arc<[f32]>,
}

impl MemoryVector {
    /// Creates a vector of an embedder.
    pub fn new(model: impl Into<String>, values: impl Into<Arc<[f32]>>) -> Self {
        Self { model: model.into(), values: values.into() }
    }

    /// Returns the cosine similarity of two vectors: from -1 to 1. It is 0 if the models or lengths
    /// differ, or if one vector is zero.
    pub fn similarity(&self, other: &Self) -> f32 {
        if self.model != other.model || self.values.len() != other.values.len() {
            return 0.0;
        }
        cosine(&self.values, &other.values)
    }

    /// Returns the components as little-endian bytes, the form in which stores keep them.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    /// Parses a vector from little-endian bytes. Returns `None` if the length is not a multiple of
    /// four or a component is not finite.
    pub fn from_bytes(model: impl Into<String>, bytes: &[u8]) -> Option<Self> {
        let (numbers, rest) = bytes.as_chunks::<4>();
        let values: Arc<[f32]> = numbers.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        (rest.is_empty() && values.iter().all(|value| value.is_finite()))
            .then(|| Self::new(model, values))
    }

    /// Refuses an invalid embedder name, an empty or too long vector, and components that are not
    /// finite.
    pub fn check(&self, operation: &'static str) -> Result<()> {
        limits::check_id(operation, "embedder", &self.model)?;
        limits::check_length(operation, "vector", self.values.len(), limits::MAX_VECTOR_LENGTH)?;
        if self.values.is_empty() || self.values.iter().any(|value| !value.is_finite()) {
            return Err(crate::Error::invalid(
                operation,
                "a vector has finite numbers, and at least one",
            )
            .with("embedder", &self.model));
        }
        Ok(())
    }
}

/// Computes in double precision, so that no sum of finite components overflows.
fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = (0.0_f64, 0.0_f64, 0.0_f64);
    for (a, b) in a.iter().zip(b) {
        let (a, b) = (f64::from(*a), f64::from(*b));
        sums = (sums.0 + a * b, sums.1 + a * a, sums.2 + b * b);
    }
    let (dot, a, b) = sums;
    let length = a.sqrt() * b.sqrt();
    if length > 0.0 { (dot / length) as f32 } else { 0.0 }
}

impl fmt::Debug for MemoryVector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryVector")
            .field("model", &self.model)
            .field("length", &self.values.len())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derived_names_never_change_and_tell_parts_apart() {
        let name = MemoryId::derived("episode", &["s", "m", "0"]);
        assert_eq!(name, "3f01d18de1ea430c0c7eae7a31f4f34b");
        assert_ne!(name, MemoryId::derived("episode", &["sm", "", "0"]));
    }

    #[test]
    fn marks_never_change_and_tell_records_apart() {
        let mark = |scope: MemoryScope, id: &str| MemoryRecord::mark(&scope, &id.into());
        let first = mark(MemoryScope::new("ada"), "m");
        assert_eq!(first, mark(MemoryScope::new("ada"), "m"));
        assert_ne!(first, mark(MemoryScope::new("ada"), "n"));
        assert_ne!(first, mark(MemoryScope::new("ada").session("s"), "m"));
        assert_eq!(u128::from_be_bytes(first) >> 96, MARK);
    }

    /// Stores persist marks. A different hash would let forgotten records come back.
    const MARK: u128 = 3_522_314_800;

    #[test]
    fn vectors_are_compared_by_their_angle() {
        let vector = |values: &[f32]| MemoryVector::new("e", values);
        assert_eq!(vector(&[1.0, 0.0]).similarity(&vector(&[3.0, 0.0])), 1.0);
        assert_eq!(vector(&[1.0, 0.0]).similarity(&vector(&[0.0, 2.0])), 0.0);
        assert_eq!(vector(&[f32::MAX, f32::MAX]).similarity(&vector(&[f32::MAX, f32::MAX])), 1.0);
        assert_eq!(vector(&[0.0]).similarity(&vector(&[1.0])), 0.0);
        assert_eq!(vector(&[1.0]).similarity(&MemoryVector::new("other", [1.0].as_slice())), 0.0);
        let kept = vector(&[1.5, -0.25]);
        assert_eq!(MemoryVector::from_bytes("e", &kept.to_bytes()), Some(kept));
        assert_eq!(MemoryVector::from_bytes("e", &[0, 0, 0]), None);
        assert_eq!(MemoryVector::from_bytes("e", &f32::NAN.to_le_bytes()), None);
    }
}
