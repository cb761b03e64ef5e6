//! Checked histories: clients make calls at the same time, and every reply must be one that some
//! order of the calls explains.
//!
//! A run has 2 to 16 clients. They commit with conflicts, fork, amend, redact, write fragments,
//! checkpoints, streams, rounds and memories, delete and read, and record when each call began and
//! ended, and its reply. The history is then checked for linearizability (Herlihy and Wing): there
//! must be an order of all calls that agrees with the times at which they began and ended, and in
//! which each reply is that of a store with one client. The search is that of Wing and Gong with
//! the cache of Lowe, as `todc-utils` implements it. A chat with its fragments and streams, a round
//! and the memories of a user are checked apart, since no call concerns two of them.
//!
//! A call whose outcome is unknown stays open: it may take effect at any later time, or never. Such
//! a call failed with [`Unavailable`](context_core::ErrorKind::Unavailable) or
//! [`Timeout`](context_core::ErrorKind::Timeout). All other errors promise that nothing was
//! written, which is checked.
//!
//! [`ClientRun::check`] runs clients on the given handles, beside a [`Nemesis`] that disturbs the
//! store. The cases of the group `linear` do so for every store. A failure prints the seed, the
//! cell and the shortest history that shows it. The same seed gives the same clients and calls, as
//! far as the replies of the store do not decide them.

mod assertions;
mod board;
mod call;
mod checker;
mod clients;
mod history;
mod make;
mod nemesis;
mod planted;
mod process;
mod reply;
mod run;
mod sequential;
mod violation;

pub(crate) use process::{ClientTask, ProcessRun};

pub use assertions::{assert_faults_are_found, assert_linearizable};
pub use clients::ClientStore;
pub use nemesis::{Calm, CutConnections, Nemesis};
pub use planted::{PlantedFault, PlantedStore};
pub use run::{ClientRun, RunNumbers};
pub use violation::{HistoryShown, RunFailure};
