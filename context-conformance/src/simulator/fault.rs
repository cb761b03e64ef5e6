//! What goes wrong at the provider, and when, as data.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What goes wrong with a request, whatever it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Fault {
    /// The provider counts more tokens than the caller: more than the window has.
    Overflow,
    /// An image is too large in bytes.
    ImageTooLarge,
    /// More output is asked for than the model writes.
    OutputTooLarge,
    /// Too many requests. `retry_after` goes with the header of this name, and into the words where the provider says
    /// it there.
    RateLimit {
        /// How long to wait.
        retry_after: Option<Duration>,
    },
    /// The provider has too much to do.
    Overloaded,
    /// The provider fails.
    Server,
    /// A signature of a thought is refused.
    SignatureRefused,
    /// The connection breaks behind this many events, or in the middle of an answer that comes at once.
    BrokenStream {
        /// How many events arrive.
        after_events: usize,
    },
    /// The provider fails behind this many events and says so in one; an answer that comes at once is refused.
    FailsMidway {
        /// How many events arrive before.
        after_events: usize,
    },
    /// The model says nothing.
    EmptyAnswer,
    /// The answer ends at this many tokens, for want of room.
    CutOff {
        /// How many tokens are written.
        tokens: u64,
    },
    /// The provider takes the answer back because of what it is about.
    ContentFilter,
}

impl Fault {
    /// Whether it stands in front of everything else: a provider that is busy does not read the request.
    pub(super) fn comes_first(self) -> bool {
        matches!(self, Self::RateLimit { .. } | Self::Overloaded | Self::Server)
    }
}

/// What goes wrong with which request. Shown as JSON, which can be pasted into a test and parsed there.
///
/// ```
/// use context_conformance::simulator::{Fault, Script};
///
/// let script = Script::from([Fault::Overloaded]).at(3, Fault::CutOff { tokens: 5 });
/// assert_eq!(script.to_string(), r#"{"0":"overloaded","3":{"cut_off":{"tokens":5}}}"#);
/// assert_eq!(serde_json::from_str::<Script>(&script.to_string())?, script);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Script(BTreeMap<u64, Fault>);

impl Script {
    /// The script with a fault of this request; 0 is the first. Of two for one request the later counts.
    #[must_use]
    pub fn at(mut self, request: u64, fault: Fault) -> Self {
        self.0.insert(request, fault);
        self
    }

    pub(super) fn fault(&self, request: u64) -> Option<Fault> {
        self.0.get(&request).copied()
    }
}

impl<const N: usize> From<[Fault; N]> for Script {
    /// The faults of the first requests, one each.
    fn from(faults: [Fault; N]) -> Self {
        Self((0..).zip(faults).collect())
    }
}

impl FromIterator<Fault> for Script {
    fn from_iter<I: IntoIterator<Item = Fault>>(faults: I) -> Self {
        Self((0..).zip(faults).collect())
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}
