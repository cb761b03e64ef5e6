//! What a proxy does to connections and when, as data; and what passed through it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::random::Random;

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// Requests.
    ToServer,
    /// Replies.
    ToClient,
}

/// What happens to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CutHow {
    /// It is closed, to both sides.
    Close,
    /// It stays open, and nothing passes it any more, either way, until one side closes it.
    Hang,
}

/// One connection is cut, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Cut {
    /// The connection, counted from 0 since the proxy was started; the one that gets there first,
    /// if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<u64>,
    /// The way on which bytes are counted.
    pub way: Way,
    /// How many bytes still pass that way, on all connections that are meant together, since the
    /// plan was set. The cut is when there is a further one: so 0 replies let the server do what it
    /// was asked before its reply is lost.
    pub after: u64,
    /// What happens then.
    pub how: CutHow,
}

impl Cut {
    /// Cuts the connection over which goes what follows so many bytes.
    pub fn new(way: Way, after: u64, how: CutHow) -> Self {
        Self { connection: None, way, after, how }
    }

    /// Counts and cuts this connection alone, counted from 0.
    #[must_use]
    pub fn on_connection(mut self, connection: u64) -> Self {
        self.connection = Some(connection);
        self
    }
}

/// What is cut. Shown as JSON, which can be pasted into a test and parsed there.
///
/// ```
/// use context_conformance::{Cut, CutHow, CutPlan, Way};
///
/// let plan = CutPlan::default().with(Cut::new(Way::ToClient, 0, CutHow::Close));
/// assert_eq!(plan.to_string(), r#"[{"way":"to_client","after":0,"how":"close"}]"#);
/// assert_eq!(serde_json::from_str::<CutPlan>(&plan.to_string())?, plan);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CutPlan {
    /// The cuts, each of which happens once.
    pub cuts: Vec<Cut>,
}

impl CutPlan {
    /// The plan with another cut.
    #[must_use]
    pub fn with(mut self, cut: Cut) -> Self {
        self.cuts.push(cut);
        self
    }

    /// So many closed connections, each after fewer than `bytes` bytes of either way, the same for
    /// the same seed.
    pub fn random(seed: u64, cuts: usize, bytes: u64) -> Self {
        let mut random = Random::new(seed);
        let cut = |random: &mut Random| {
            let way = if random.one_in(2) { Way::ToServer } else { Way::ToClient };
            Cut::new(way, random.bits() % bytes.max(1), CutHow::Close)
        };
        Self { cuts: (0..cuts).map(|_| cut(&mut random)).collect() }
    }
}

impl fmt::Display for CutPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

/// What has passed a proxy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Traffic {
    /// Connections that were made, those that were refused not among them.
    pub connections: u64,
    /// Connections that were refused.
    pub refused: u64,
    /// Bytes to the server.
    pub to_server: u64,
    /// Bytes to the client.
    pub to_client: u64,
    /// How often a connection was answered after it had been asked: round trips, if client and
    /// server take turns.
    pub turns: u64,
    /// How many cuts of plans have happened.
    pub cuts: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_means_the_same_plan_and_a_plan_is_read_as_it_is_shown() {
        for seed in 0..50 {
            let plan = CutPlan::random(seed, 3, 1000);
            assert_eq!(plan, CutPlan::random(seed, 3, 1000));
            assert!(plan.cuts.len() == 3 && plan.cuts.iter().all(|cut| cut.after < 1000));
            assert_eq!(serde_json::from_str::<CutPlan>(&plan.to_string()).unwrap(), plan);
        }
        let one =
            CutPlan::default().with(Cut::new(Way::ToServer, 9, CutHow::Hang).on_connection(2));
        assert_eq!(serde_json::from_str::<CutPlan>(&one.to_string()).unwrap(), one);
    }
}
