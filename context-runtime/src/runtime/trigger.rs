//! The conditions under which a stage of a compaction runs.

use std::fmt;
use std::time::Duration;

use context_core::history::{Goal, HistoryView};

/// The condition under which a [`Stage`](super::Stage) runs. Conditions combine with
/// [`and`](Self::and) and [`or`](Self::or). A number is a share of the window.
///
/// ```
/// use std::time::Duration;
///
/// use context_runtime::compaction::{HistoryState, Trigger};
///
/// // Early after a pause, when the provider's cache is gone anyway, and at the latest at 80 percent.
/// let pause = Trigger::Idle(Duration::from_secs(3_600)).and(0.4);
/// let trigger = pause.or(0.8);
///
/// let mut state = HistoryState::of_share(0.5);
/// assert!(!trigger.is_due(&state));
/// state.idle = Some(Duration::from_secs(7_200));
/// assert!(trigger.is_due(&state));
/// assert_eq!(trigger.to_string(), "(idle for 3600s and 40% of the window) or 80% of the window");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Trigger {
    /// The request fills this share of the window, from 0 to 1. With 1 the stage runs only if the
    /// request does not fit.
    Share(f64),
    /// The request has this many tokens, whatever the window.
    Tokens(u64),
    /// The history has this many messages.
    Messages(usize),
    /// The history has this many requests of the user.
    Turns(usize),
    /// The last request of the chat was sent this long ago. After a pause longer than the lifetime
    /// of the provider's cache, a changed history costs nothing extra. Never true for the first
    /// request of a process.
    Idle(Duration),
    /// The provider still has the last request of the chat in its prompt cache, and forgets it
    /// within this time. A summary that is made now reads the history from the cache. Never true
    /// for the first request of a process, and for models whose lifetimes are not known.
    CacheExpires(Duration),
    /// The provider has nothing of the history in its prompt cache any more: after a pause that was
    /// longer than the lifetime of an entry, or with another system prompt, model or provider. A
    /// changed history costs nothing extra then. Never true for the first request of a process.
    CacheCold,
    /// Any of these conditions.
    Any(Vec<Trigger>),
    /// All of these conditions; an empty list is never true.
    All(Vec<Trigger>),
}

/// The state of a history that a [`Trigger`] is about.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct HistoryState {
    /// The share of the window that the request fills.
    pub share: f64,
    /// Tokens of the request.
    pub tokens: u64,
    /// Messages of the history.
    pub messages: usize,
    /// Requests of the user in the history.
    pub turns: usize,
    /// The time since the last request of the chat. `None` if it is not known.
    pub idle: Option<Duration>,
    /// The time until the provider forgets the last request of the chat. `None` if it is not known,
    /// and if nothing is cached.
    pub expires_in: Option<Duration>,
    /// Whether a request was sent before and the provider has nothing of the history in its cache.
    pub is_cold: bool,
}

impl HistoryState {
    /// Creates the state of an otherwise empty history that fills this share of the window.
    pub fn of_share(share: f64) -> Self {
        Self { share, ..Self::default() }
    }

    /// Determines the state of a view for a goal.
    pub(super) fn of(view: &HistoryView<'_>, goal: &Goal) -> Self {
        let tokens = goal.outside.saturating_add(view.total());
        Self {
            share: goal.budget.ratio(tokens),
            tokens,
            messages: view.messages().len(),
            turns: view.structure().requests.len(),
            idle: goal.cache.idle,
            expires_in: goal.cache.expires_in,
            is_cold: goal.cache.is_cold(),
        }
    }
}

impl Trigger {
    /// Both conditions.
    #[must_use]
    pub fn and(self, other: impl Into<Self>) -> Self {
        match self {
            Self::All(mut all) => {
                all.push(other.into());
                Self::All(all)
            }
            one => Self::All(vec![one, other.into()]),
        }
    }

    /// Either condition.
    #[must_use]
    pub fn or(self, other: impl Into<Self>) -> Self {
        match self {
            Self::Any(mut any) => {
                any.push(other.into());
                Self::Any(any)
            }
            one => Self::Any(vec![one, other.into()]),
        }
    }

    /// Returns whether the condition holds.
    pub fn is_due(&self, state: &HistoryState) -> bool {
        match self {
            Self::Share(share) if *share >= 1.0 => state.share > *share,
            Self::Share(share) => state.share >= *share,
            Self::Tokens(tokens) => state.tokens >= *tokens,
            Self::Messages(messages) => state.messages >= *messages,
            Self::Turns(turns) => state.turns >= *turns,
            Self::Idle(pause) => state.idle.is_some_and(|idle| idle >= *pause),
            Self::CacheExpires(within) => state.expires_in.is_some_and(|left| left <= *within),
            Self::CacheCold => state.is_cold,
            Self::Any(any) => any.iter().any(|trigger| trigger.is_due(state)),
            Self::All(all) => !all.is_empty() && all.iter().all(|trigger| trigger.is_due(state)),
        }
    }

    /// Returns the first share in the condition that is not a number from 0 to 1.
    pub(super) fn wrong_share(&self) -> Option<f64> {
        match self {
            Self::Share(share) => (!is_share(*share)).then_some(*share),
            Self::Any(parts) | Self::All(parts) => parts.iter().find_map(Self::wrong_share),
            _ => None,
        }
    }

    /// Returns the share, if the condition is nothing else.
    pub(super) fn share(&self) -> Option<f64> {
        match self {
            Self::Share(share) => Some(*share),
            _ => None,
        }
    }
}

/// Returns whether a number is a share.
pub(super) fn is_share(share: f64) -> bool {
    share.is_finite() && (0.0..=1.0).contains(&share)
}

impl From<f64> for Trigger {
    fn from(share: f64) -> Self {
        Self::Share(share)
    }
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, parts: &[Self], word: &str| {
            for (i, part) in parts.iter().enumerate() {
                f.write_str(if i == 0 { "" } else { word })?;
                match part {
                    Self::Any(inner) | Self::All(inner) if inner.len() > 1 => {
                        write!(f, "({part})")?
                    }
                    part => part.fmt(f)?,
                }
            }
            Ok(())
        };
        match self {
            Self::Share(share) => write!(f, "{:.0}% of the window", share * 100.0),
            Self::Tokens(tokens) => write!(f, "{tokens} tokens"),
            Self::Messages(messages) => write!(f, "{messages} messages"),
            Self::Turns(turns) => write!(f, "{turns} turns"),
            Self::Idle(pause) => write!(f, "idle for {pause:?}"),
            Self::CacheExpires(within) => write!(f, "the cache expires within {within:?}"),
            Self::CacheCold => f.write_str("the cache is cold"),
            Self::Any(parts) if parts.is_empty() => f.write_str("never"),
            Self::All(parts) if parts.is_empty() => f.write_str("never"),
            Self::Any(parts) => list(f, parts, " or "),
            Self::All(parts) => list(f, parts, " and "),
        }
    }
}
