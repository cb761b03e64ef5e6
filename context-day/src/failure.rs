//! Broken invariants.

use std::fmt;

/// A property that holds after each step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Invariant {
    /// A request keeps the rules of its provider.
    Valid,
    /// A request fits the window, where agent and provider count alike.
    Window,
    /// A request holds the first request of its branch.
    FirstRequest,
    /// A request holds the newest request.
    NewestRequest,
    /// Each acknowledged text is stored once, in order, and nothing else is.
    Kept,
    /// A turn reports and records the amount that its provider charged.
    Costs,
    /// Nobody sees another's data.
    Isolation,
    /// Nothing of an erased user or a removed text is left.
    Erased,
    /// A turn pays for new tokens only, unless the history was cut.
    CachePrefix,
    /// The memory of the process stays bounded.
    Bounded,
    /// The store is sound.
    Sound,
    /// A call fails only if a fault was planned for it, and nothing panics.
    Unexpected,
}

impl fmt::Display for Invariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Valid => "a request keeps the rules of its provider",
            Self::Window => "a request fits the window",
            Self::FirstRequest => "a request holds the first request",
            Self::NewestRequest => "a request holds the newest request",
            Self::Kept => "what was acknowledged is stored",
            Self::Costs => "costs are what the provider charged",
            Self::Isolation => "nobody sees another's data",
            Self::Erased => "nothing is left of what was erased",
            Self::CachePrefix => "a turn pays for new tokens only",
            Self::Bounded => "memory is bounded",
            Self::Sound => "the store is sound",
            Self::Unexpected => "nothing fails without a fault",
        })
    }
}

/// A broken invariant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("broken: {invariant}: {details}")]
#[non_exhaustive]
pub struct DayFailure {
    /// The invariant.
    pub invariant: Invariant,
    /// The observation.
    pub details: String,
}

impl DayFailure {
    pub(crate) fn new(invariant: Invariant, details: impl fmt::Display) -> Self {
        Self { invariant, details: details.to_string() }
    }

    pub(crate) fn unexpected(place: &str, error: impl fmt::Display) -> Self {
        Self::new(Invariant::Unexpected, format_args!("{place}: {error}"))
    }
}
