//! Rules of the providers' prompt caches.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The rules of a provider's prompt cache for a model, with the page that states them.
///
/// ```
/// use std::time::Duration;
/// use context_tokens::ModelTable;
///
/// let rules = ModelTable::builtin().model("claude-opus-4-5").cache_rules().ok_or("no rules")?;
/// assert_eq!((rules.minimum, rules.marks, rules.automatic), (4_096, 4, false));
/// let hour = rules.lifetime(Duration::from_secs(1_800)).ok_or("no lifetime")?;
/// assert_eq!((hour.seconds, hour.write), (3_600, 2.0)); // twice the price of other input
/// # Ok::<_, &str>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CacheRules {
    /// The minimum length of a cached prefix, in tokens. Shorter prefixes are not cached, without
    /// an error.
    pub minimum: u64,
    /// Whether prefixes are cached without cache breakpoints in the request.
    pub automatic: bool,
    /// The maximum number of cache breakpoints of a request. 0 if the provider takes none.
    pub marks: usize,
    /// Whether a request may name a key, which sends requests with the same prefix to the same
    /// cache.
    pub key: bool,
    /// The lifetime in seconds of content that a call of its own stores in the cache ahead of
    /// requests. `None` if the provider has no such call. Storage is charged by time, which
    /// [`Prices`](crate::Prices) do not contain.
    pub ahead: Option<u64>,
    /// The lifetimes that a request may choose from, the usual one first. Each is the time that an
    /// entry is kept at least after its last use. Empty if the provider states none.
    pub lifetimes: Vec<CacheLifetime>,
    /// The address of the page that the rules are from.
    pub source: Option<String>,
}

/// A lifetime of entries in a prompt cache.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct CacheLifetime {
    /// The lifetime after the last use, in seconds.
    pub seconds: u64,
    /// The price of a token written for this lifetime, relative to other input.
    pub write: f64,
}

impl CacheLifetime {
    /// Returns the lifetime as a duration.
    pub const fn duration(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }
}

impl CacheRules {
    /// Returns whether the provider caches prefixes of this model at all.
    pub fn is_supported(&self) -> bool {
        self.automatic || self.marks > 0 || self.ahead.is_some()
    }

    /// Returns the usual lifetime, which a request gets that chooses none.
    pub fn usual_lifetime(&self) -> Option<CacheLifetime> {
        self.lifetimes.first().copied()
    }

    /// Returns the longest lifetime.
    pub fn longest_lifetime(&self) -> Option<CacheLifetime> {
        self.lifetimes.iter().max_by_key(|lifetime| lifetime.seconds).copied()
    }

    /// Returns the shortest lifetime that is at least this long.
    pub fn lifetime(&self, least: Duration) -> Option<CacheLifetime> {
        let long = self.lifetimes.iter().filter(|lifetime| lifetime.duration() >= least);
        long.min_by_key(|lifetime| lifetime.seconds).copied()
    }
}

/// Rules as a table writes them: those of a family, or the differences of a model to its family.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CacheRulesForm {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    minimum: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    automatic: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    marks: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<bool>,
    /// 0 says that a model lacks what its family has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ahead: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lifetimes: Option<Vec<CacheLifetime>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<String>,
}

impl CacheRulesForm {
    /// Returns whether all numbers are in range.
    pub(crate) fn is_sound(&self) -> bool {
        let sound = |lifetime: &CacheLifetime| {
            lifetime.seconds > 0 && lifetime.write.is_finite() && lifetime.write >= 0.0
        };
        self.lifetimes.iter().flatten().all(sound)
    }

    /// Changes the rules where this form has values.
    pub(crate) fn apply(&self, rules: &mut CacheRules) {
        fn set<T: Clone>(rule: &mut T, value: Option<&T>) {
            if let Some(value) = value {
                rule.clone_from(value);
            }
        }
        set(&mut rules.minimum, self.minimum.as_ref());
        set(&mut rules.automatic, self.automatic.as_ref());
        set(&mut rules.marks, self.marks.as_ref());
        set(&mut rules.key, self.key.as_ref());
        set(&mut rules.lifetimes, self.lifetimes.as_ref());
        if let Some(seconds) = self.ahead {
            rules.ahead = Some(seconds).filter(|seconds| *seconds > 0);
        }
        if self.source.is_some() {
            rules.source.clone_from(&self.source);
        }
    }
}
