//! The faults of a simulated provider, and a script of them, as data.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::random::Random;

/// A fault of a request. It applies to any request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ProviderFault {
    /// The provider counts more tokens than the caller: more than the window holds.
    Overflow,
    /// An image has too many bytes.
    ImageTooLarge,
    /// The request asks for more output than the model writes.
    OutputTooLarge,
    /// There are too many requests. `retry_after` becomes the header of that name, and part of the
    /// error text if the provider puts it there.
    RateLimit {
        /// The time to wait.
        retry_after: Option<Duration>,
    },
    /// The provider is overloaded.
    Overloaded,
    /// The provider has an internal error.
    Server,
    /// The provider refuses the signature of a thinking block.
    SignatureRefused,
    /// The connection breaks after this many events, or in the middle of an answer that is not
    /// streamed.
    BrokenStream {
        /// The number of events that arrive.
        after_events: usize,
    },
    /// The provider fails after this many events and reports the error as an event. A request
    /// without streaming is refused.
    FailsMidway {
        /// The number of events that arrive before the error.
        after_events: usize,
    },
    /// The answer is empty.
    EmptyAnswer,
    /// The answer ends after this many tokens, because the output limit is reached.
    CutOff {
        /// The number of tokens written.
        tokens: u64,
    },
    /// The provider withholds the answer because of its content.
    ContentFilter,
}

impl ProviderFault {
    /// Whether the fault precedes all other checks. A busy provider does not read the request.
    pub(super) fn comes_first(self) -> bool {
        matches!(self, Self::RateLimit { .. } | Self::Overloaded | Self::Server)
    }
}

/// The faults of a series of requests. Displayed as JSON, which can be pasted into a test and
/// parsed there.
///
/// ```
/// use context_simulator::{ProviderFault, Script};
///
/// let script = Script::from([ProviderFault::Overloaded]).at(3, ProviderFault::CutOff { tokens: 5 });
/// assert_eq!(script.to_string(), r#"{"0":"overloaded","3":{"cut_off":{"tokens":5}}}"#);
/// assert_eq!(serde_json::from_str::<Script>(&script.to_string())?, script);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Script(BTreeMap<u64, ProviderFault>);

impl Script {
    /// Returns the script with a fault for the request with this index, from 0. It replaces an
    /// earlier fault for the same request.
    #[must_use]
    pub fn at(mut self, request: u64, fault: ProviderFault) -> Self {
        self.0.insert(request, fault);
        self
    }

    /// Returns a script of `faults` faults among the first `requests` requests, of all kinds that a
    /// caller can handle. The same seed gives the same script.
    pub fn random(seed: u64, requests: u64, faults: usize) -> Self {
        let mut random = Random::new(seed);
        let mut script = Self::default();
        for _ in 0..faults.min(usize::try_from(requests).unwrap_or(usize::MAX)) {
            let mut request = random.bits() % requests;
            while script.0.contains_key(&request) {
                request = (request + 1) % requests;
            }
            script = script.at(request, any(&mut random));
        }
        script
    }

    pub(super) fn fault(&self, request: u64) -> Option<ProviderFault> {
        self.0.get(&request).copied()
    }
}

fn any(random: &mut Random) -> ProviderFault {
    let some = |random: &mut Random| random.below(20);
    match random.below(11) {
        0 => ProviderFault::Overflow,
        1 => ProviderFault::ImageTooLarge,
        2 => ProviderFault::OutputTooLarge,
        3 => ProviderFault::RateLimit { retry_after: None },
        4 => ProviderFault::RateLimit {
            retry_after: Some(Duration::from_secs(1 + random.below(60) as u64)),
        },
        5 => ProviderFault::Overloaded,
        6 => ProviderFault::Server,
        7 => ProviderFault::BrokenStream { after_events: some(random) },
        8 => ProviderFault::FailsMidway { after_events: some(random) },
        9 => ProviderFault::EmptyAnswer,
        _ => ProviderFault::CutOff { tokens: some(random) as u64 },
    }
}

impl<const N: usize> From<[ProviderFault; N]> for Script {
    /// Assigns one fault to each of the first requests.
    fn from(faults: [ProviderFault; N]) -> Self {
        Self((0..).zip(faults).collect())
    }
}

impl FromIterator<ProviderFault> for Script {
    fn from_iter<I: IntoIterator<Item = ProviderFault>>(faults: I) -> Self {
        Self((0..).zip(faults).collect())
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_means_the_same_script_and_a_script_is_read_as_it_is_shown() {
        for seed in 0..50 {
            let script = Script::random(seed, 20, 6);
            assert_eq!(script, Script::random(seed, 20, 6));
            assert_eq!(script.0.len(), 6);
            assert!(script.0.keys().all(|request| *request < 20));
            assert_eq!(serde_json::from_str::<Script>(&script.to_string()).unwrap(), script);
        }
        assert_ne!(Script::random(1, 20, 6), Script::random(2, 20, 6));
        assert_eq!(Script::random(1, 3, 9).0.len(), 3);
        assert_eq!(Script::random(1, 0, 6), Script::default());
    }
}
