//! The plan by which a proxy cuts connections, as data, and the traffic counters.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::random::Random;

/// A direction of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From client to server: requests.
    ToServer,
    /// From server to client: replies.
    ToClient,
}

/// The way in which a connection is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CutKind {
    /// The connection is closed on both sides.
    Close,
    /// The connection stays open, but nothing passes in either direction until one side closes it.
    Hang,
}

/// A single cut of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Cut {
    /// The number of the connection, counted from 0 since the start of the proxy. `None` cuts the
    /// connection that reaches the limit first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<u64>,
    /// The direction in which bytes are counted.
    pub direction: Direction,
    /// The number of bytes that still pass in that direction since the plan was set, summed over
    /// all connections that the cut applies to. The cut happens at the next byte. So a cut after 0
    /// bytes to the client lets the server do its work before its reply is lost.
    pub after: u64,
    /// The way in which the connection is cut.
    pub kind: CutKind,
}

impl Cut {
    /// Cuts the connection that carries the first byte after `after` bytes.
    pub fn new(direction: Direction, after: u64, kind: CutKind) -> Self {
        Self { connection: None, direction, after, kind }
    }

    /// Counts and cuts only this connection, counted from 0.
    #[must_use]
    pub fn on_connection(mut self, connection: u64) -> Self {
        self.connection = Some(connection);
        self
    }
}

/// A list of cuts. Displayed as JSON, which can be pasted into a test and parsed there.
///
/// ```
/// use context_simulator::proxy::{Cut, CutKind, CutPlan, Direction};
///
/// let plan = CutPlan::default().with(Cut::new(Direction::ToClient, 0, CutKind::Close));
/// assert_eq!(plan.to_string(), r#"[{"direction":"to_client","after":0,"kind":"close"}]"#);
/// assert_eq!(serde_json::from_str::<CutPlan>(&plan.to_string())?, plan);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CutPlan {
    /// The cuts. Each happens once.
    pub cuts: Vec<Cut>,
}

impl CutPlan {
    /// Returns the plan with another cut.
    #[must_use]
    pub fn with(mut self, cut: Cut) -> Self {
        self.cuts.push(cut);
        self
    }

    /// Returns a plan of `cuts` closed connections, each after fewer than `bytes` bytes in a random
    /// direction. The same seed gives the same plan.
    pub fn random(seed: u64, cuts: usize, bytes: u64) -> Self {
        let mut random = Random::new(seed);
        let cut = |random: &mut Random| {
            let direction =
                if random.one_in(2) { Direction::ToServer } else { Direction::ToClient };
            Cut::new(direction, random.bits() % bytes.max(1), CutKind::Close)
        };
        Self { cuts: (0..cuts).map(|_| cut(&mut random)).collect() }
    }
}

impl fmt::Display for CutPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

/// The traffic counters of a proxy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Traffic {
    /// The number of accepted connections, without the refused ones.
    pub connections: u64,
    /// The number of refused connections.
    pub refused: u64,
    /// The number of bytes sent to the server.
    pub to_server: u64,
    /// The number of bytes sent to the client.
    pub to_client: u64,
    /// The number of times that a reply followed a request on a connection: round trips, if client
    /// and server take turns.
    pub turns: u64,
    /// The number of cuts that have happened.
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
        let one = CutPlan::default()
            .with(Cut::new(Direction::ToServer, 9, CutKind::Hang).on_connection(2));
        assert_eq!(serde_json::from_str::<CutPlan>(&one.to_string()).unwrap(), one);
    }
}
