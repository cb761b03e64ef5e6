//! Counts of secrets that were masked, and of those that were left.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::kind::SecretKind;

/// Numbers of secrets by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SecretCounts(BTreeMap<SecretKind, u64>);

impl SecretCounts {
    /// Adds secrets of a kind.
    pub fn add(&mut self, kind: &SecretKind, count: u64) {
        if count > 0 {
            *self.0.entry(kind.clone()).or_default() += count;
        }
    }

    /// Adds other counts.
    pub fn merge(&mut self, other: &Self) {
        other.iter().for_each(|(kind, count)| self.add(kind, count));
    }

    /// Returns the number of secrets of a kind.
    pub fn of(&self, kind: &str) -> u64 {
        self.iter().find(|(known, _)| *known == kind).map_or(0, |(_, count)| count)
    }

    /// Returns the number of secrets of all kinds.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns kinds and numbers, ordered by kind.
    pub fn iter(&self) -> impl Iterator<Item = (&SecretKind, u64)> {
        self.0.iter().map(|(kind, count)| (kind, *count))
    }
}

/// A place whose secrets cannot be masked, because its bytes must stay as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum UnmaskablePlace {
    /// An opaque block, which its provider expects back byte for byte.
    OpaqueBlock,
    /// Reasoning that its provider has signed.
    SignedReasoning,
    /// Bytes that are not text.
    Binary,
}

impl UnmaskablePlace {
    /// Returns the stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpaqueBlock => "opaque_block",
            Self::SignedReasoning => "signed_reasoning",
            Self::Binary => "binary",
        }
    }
}

/// The outcome of masking: the secrets that were masked, and those that were found and left.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MaskReport {
    /// The secrets that were masked.
    pub masked: SecretCounts,
    /// The secrets that were left where they are, by place.
    pub left: BTreeMap<UnmaskablePlace, SecretCounts>,
}

impl MaskReport {
    /// Returns whether no secret was found.
    pub fn is_empty(&self) -> bool {
        self.masked.is_empty() && self.left.is_empty()
    }

    /// Adds another report.
    pub fn merge(&mut self, other: &Self) {
        self.masked.merge(&other.masked);
        other.left.iter().for_each(|(place, counts)| self.leave(*place, counts));
    }

    /// Counts a secret that was masked.
    pub fn add_masked(&mut self, kind: &SecretKind) {
        self.masked.add(kind, 1);
    }

    pub(crate) fn leave(&mut self, place: UnmaskablePlace, counts: &SecretCounts) {
        if !counts.is_empty() {
            self.left.entry(place).or_default().merge(counts);
        }
    }

    /// Returns the number of secrets that were left.
    pub fn left_total(&self) -> u64 {
        self.left.values().map(SecretCounts::total).sum()
    }
}
