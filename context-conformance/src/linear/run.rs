//! One run: clients, a disturbance, and the check of what they saw.

use std::convert::Infallible;
use std::sync::Arc;

use context_simulator::Random;
use tokio::task::JoinSet;

use super::call::{CallTarget, CheckedObject, ClientCall};
use super::checker::{Linearizable, check, of_object, shortest};
use super::clients::{Arena, ClientStore};
use super::history::{CallLog, CallOutcome, RecordedCall};
use super::nemesis::Nemesis;
use super::violation::{HistoryShown, RunFailure};

/// A run of several clients on one chat, one round and the memories of one user, all of them new.
/// The seed decides how many clients there are and which calls they make, as far as the replies of
/// the store do not.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientRun {
    /// The name of the store and the disturbance, for failures.
    pub cell: String,
    /// The seed.
    pub seed: u64,
    /// The owner of everything that the run writes. No other run may use it.
    pub user: String,
    /// Whether the clocks of the clients jump.
    pub jumps: bool,
    /// Whether the clients only append to the main branch and read it, so that a lost message can
    /// be counted.
    pub appends: bool,
}

/// The numbers of a run that found nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunNumbers {
    /// Number of runs.
    pub runs: u64,
    /// Number of calls.
    pub calls: u64,
    /// Number of calls whose outcome the clients did not learn.
    pub unknown: u64,
    /// Number of runs for which the search for an order was given up.
    pub undecided: u64,
    /// Number of runs whose replies no order explains. Only [measured](ClientRun::measure) runs
    /// have such numbers.
    pub violations: u64,
    /// Number of messages that were acknowledged and are not there at the end, of measured runs.
    pub lost: u64,
}

impl RunNumbers {
    /// Adds the numbers of another run.
    pub fn add(&mut self, other: Self) {
        self.runs += other.runs;
        self.calls += other.calls;
        self.unknown += other.unknown;
        self.undecided += other.undecided;
        self.violations += other.violations;
        self.lost += other.lost;
    }
}

impl ClientRun {
    /// Creates a run with clocks that go forward.
    pub fn new(cell: impl Into<String>, seed: u64, user: impl Into<String>) -> Self {
        Self { cell: cell.into(), seed, user: user.into(), jumps: false, appends: false }
    }

    /// Lets the clocks of the clients jump up to an hour forward and back.
    #[must_use]
    pub fn jumps(mut self) -> Self {
        self.jumps = true;
        self
    }

    /// Lets the clients only append to the main branch, and read it.
    #[must_use]
    pub fn appends(mut self) -> Self {
        self.appends = true;
        self
    }

    /// Returns the number of clients, from 2 to 16, and the number of calls of each.
    pub(crate) fn size(&self) -> (usize, usize) {
        let mut random = Random::new(self.seed);
        let clients = 2 + random.below(15);
        let calls = 30 + random.below(51);
        (clients, calls.div_ceil(clients))
    }

    /// Returns the seed of a client.
    pub(crate) fn seed_of(&self, client: usize) -> u64 {
        Random::new(self.seed ^ (client as u64 + 1).rotate_left(32)).bits()
    }

    /// Runs the clients, each on one of these handles, and checks the calls that they recorded.
    pub async fn check(
        &self,
        stores: &[ClientStore],
        nemesis: &mut dyn Nemesis,
    ) -> Result<RunNumbers, RunFailure> {
        let calls = self.record(stores, nemesis).await?;
        self.judge(&calls, self.size().0)
    }

    /// Runs the clients like [`check`](Self::check), and counts what a store lost that does not
    /// promise to keep everything. The clients should only [append](Self::appends).
    pub async fn measure(
        &self,
        stores: &[ClientStore],
        nemesis: &mut dyn Nemesis,
    ) -> Result<RunNumbers, RunFailure> {
        let calls = self.record(stores, nemesis).await?;
        let lost = lost_messages(&calls);
        match self.judge(&calls, self.size().0) {
            Err(failure) if failure.is_violation() => {
                let calls = calls.len() as u64;
                Ok(RunNumbers { runs: 1, calls, violations: 1, lost, ..RunNumbers::default() })
            }
            judged => judged.map(|numbers| RunNumbers { lost, ..numbers }),
        }
    }

    async fn record(
        &self,
        stores: &[ClientStore],
        nemesis: &mut dyn Nemesis,
    ) -> Result<Vec<RecordedCall>, RunFailure> {
        let Some(first) = stores.first() else { return Ok(Vec::new()) };
        let (clients, each) = self.size();
        let arena = Arc::new(Arena::new(self, CallLog::new(), 0));
        arena.begin(first).await?;
        let mut tasks = JoinSet::new();
        for client in 0..clients {
            let (arena, seed) = (Arc::clone(&arena), self.seed_of(client));
            let store = stores[client % stores.len()].clone();
            tasks.spawn(async move {
                let Ok(()) =
                    arena.live(&store, (client, seed), each, || Ok::<_, Infallible>(())).await;
            });
        }
        let over = async {
            let panicked = loop {
                match tasks.join_next().await {
                    None => break None,
                    Some(Err(error)) if error.is_panic() => break Some(error.into_panic()),
                    Some(_) => {}
                }
            };
            arena.is_over();
            panicked
        };
        let calls = (clients * each) as u64;
        let storm = arena.disturb(nemesis, calls, self.seed_of(clients));
        let (panicked, disturbed) = tokio::join!(over, storm);
        if let Some(panic) = panicked {
            std::panic::resume_unwind(panic);
        }
        disturbed?;
        arena.end(first).await?;
        Ok(arena.log.calls())
    }

    /// Checks recorded calls.
    pub(crate) fn judge(
        &self,
        calls: &[RecordedCall],
        clients: usize,
    ) -> Result<RunNumbers, RunFailure> {
        for object in [CheckedObject::Chat, CheckedObject::Round, CheckedObject::Memories] {
            let of_object = of_object(calls, object);
            let shown =
                |calls| Box::new(HistoryShown::new(&self.cell, self.seed, clients, object, calls));
            match check(&of_object) {
                Linearizable::Yes => {}
                Linearizable::No => {
                    return Err(RunFailure::NotLinearizable(shown(shortest(&of_object))));
                }
                Linearizable::Undecided => return Err(RunFailure::Undecided(shown(of_object))),
            }
        }
        let unknown = calls.iter().filter(|call| call.outcome == CallOutcome::Unknown).count();
        let (calls, unknown) = (calls.len() as u64, unknown as u64);
        Ok(RunNumbers { runs: 1, calls, unknown, ..RunNumbers::default() })
    }
}

/// Returns how many messages were acknowledged on the main branch, and are not on it in the last
/// read.
fn lost_messages(calls: &[RecordedCall]) -> u64 {
    let is_main = |target: &CallTarget| {
        matches!(target, CallTarget::Extend { branch, .. } | CallTarget::Graft { branch, .. }
            if branch == "main")
    };
    let mut acknowledged = Vec::new();
    let mut last = "";
    for recorded in calls {
        match (&recorded.call, &recorded.outcome) {
            (ClientCall::Commit(commit), CallOutcome::Replied(text))
                if is_main(&commit.target)
                    && (text.starts_with("applied") || text.starts_with("replayed")) =>
            {
                acknowledged.extend(commit.messages.iter().map(String::as_str));
            }
            (ClientCall::ReadChain { branch }, CallOutcome::Replied(text)) if branch == "main" => {
                last = text;
            }
            // The chat is gone with everything in it.
            (ClientCall::ReadChain { branch }, CallOutcome::Refused(_)) if branch == "main" => {
                last = "";
            }
            _ => {}
        }
    }
    let kept: Vec<_> = last.trim_matches(['[', ']']).split(", ").collect();
    acknowledged.iter().filter(|message| !kept.contains(message)).count() as u64
}
