//! The faults of one run, as data from a seed.

use std::fmt;

use context_simulator::Random;
use context_simulator::faults::{FaultPlan, Operation};
use context_simulator::proxy::{Cut, CutKind, CutPlan, Direction};
use serde::Serialize;

use crate::backend::Backend;

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Fault {
    /// The store executes the call, and its reply is lost.
    ReplyLost,
    /// The connection is cut before the request arrives.
    CutBefore,
    /// No reply arrives any more.
    Hang,
    /// The connection is cut somewhere in the middle, several times.
    CutInside,
    /// The server is killed and started again.
    ServerKilled,
    /// The writing process is killed.
    ClientKilled,
}

impl Fault {
    pub(crate) const ALL: [Self; 6] = [
        Self::ReplyLost,
        Self::CutBefore,
        Self::Hang,
        Self::CutInside,
        Self::ServerKilled,
        Self::ClientKilled,
    ];

    /// Whether it can happen to a backend.
    pub(crate) fn concerns(self, backend: Backend) -> bool {
        match self {
            Self::ReplyLost | Self::CutBefore | Self::Hang => true,
            Self::CutInside | Self::ServerKilled => backend.has_server(),
            Self::ClientKilled => backend != Backend::Inmem,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReplyLost => "reply_lost",
            Self::CutBefore => "cut_before",
            Self::Hang => "hang",
            Self::CutInside => "cut_inside",
            Self::ServerKilled => "server_killed",
            Self::ClientKilled => "client_killed",
        })
    }
}

/// The number of writes in a run.
pub(crate) const WRITES: usize = 12;

/// A run, with faults before some of its writes.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Plan {
    pub(crate) fault: Fault,
    pub(crate) seed: u64,
    /// The writes before which a fault is injected.
    pub(crate) at: Vec<usize>,
    /// The cuts of the connection to a server.
    pub(crate) cuts: CutPlan,
    /// The faults of an in-process store.
    pub(crate) calls: FaultPlan,
    /// The moment when a process is killed: after this many acknowledgements, and then turns of an
    /// idle loop.
    pub(crate) kill: (usize, usize),
}

impl Plan {
    pub(crate) fn random(fault: Fault, seed: u64) -> Self {
        let mut random = Random::new(seed ^ ((fault as u64) << 32));
        let mut at: Vec<_> = (0..1 + random.below(3)).map(|_| random.below(WRITES)).collect();
        at.sort_unstable();
        at.dedup();
        let cut =
            |direction, after, kind| CutPlan::default().with(Cut::new(direction, after, kind));
        let few = random.below(3) as u64 * 30;
        let cuts = match fault {
            Fault::ReplyLost => cut(Direction::ToClient, few, CutKind::Close),
            Fault::CutBefore => cut(Direction::ToServer, 0, CutKind::Close),
            Fault::Hang if random.below(2) == 0 => cut(Direction::ToServer, few, CutKind::Hang),
            Fault::Hang => cut(Direction::ToClient, few, CutKind::Hang),
            Fault::CutInside => CutPlan::random(random.bits(), 2, 900),
            Fault::ServerKilled | Fault::ClientKilled => CutPlan::default(),
        };
        let call = match fault {
            Fault::ReplyLost => context_simulator::faults::Fault::AfterApply,
            Fault::Hang if random.below(2) == 0 => context_simulator::faults::Fault::HangAfterApply,
            Fault::Hang => context_simulator::faults::Fault::Hang,
            _ => context_simulator::faults::Fault::BeforeApply,
        };
        let calls = at.iter().fold(FaultPlan::default(), |plan, nth| {
            plan.with(Operation::Commit, u32::try_from(*nth).unwrap_or(0), call)
        });
        let kill = (random.below(WRITES), random.below(30_000));
        Self { fault, seed, at, cuts, calls, kill }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}
