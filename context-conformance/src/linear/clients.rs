//! The clients of a run: they make random calls at the same time, and record them.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use context_core::{Error, ErrorKind, Store};
use context_simulator::Random;
use tokio::sync::{Notify, RwLock};

use super::board::{Abilities, Board, ClientNames};
use super::call::{ClientCall, ObjectNames};
use super::history::{CallLog, CallOutcome};
use super::nemesis::Nemesis;
use super::run::ClientRun;
use super::violation::RunFailure;

/// The time after which a call without an answer is dropped. Its outcome is unknown then.
const PATIENCE: Duration = Duration::from_secs(20);
/// The time in which the reads at the end must succeed.
const LAST_PATIENCE: Duration = Duration::from_secs(60);
/// The number of calls whose outcome is unknown, after which a client waits for the store.
const MOST_UNKNOWN: usize = 1;
/// The first time of a run, in microseconds.
const BEGIN: i64 = 1_700_000_000_000_000;
/// The farthest jump of a clock, in microseconds: an hour.
const FARTHEST: usize = 3_600_000_000;

/// The handle of one or more clients.
#[derive(Clone, Debug)]
pub struct ClientStore {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) retries: Option<Arc<AtomicU64>>,
}

impl ClientStore {
    /// Uses this handle as it is. Any number of clients may share it.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, retries: None }
    }

    /// Uses a handle that retries calls itself, and counts its retries. The handle must be that of
    /// one client alone.
    pub fn counting(store: Arc<dyn Store>, retries: Arc<AtomicU64>) -> Self {
        Self { store, retries: Some(retries) }
    }

    fn retries(&self) -> u64 {
        self.retries.as_ref().map_or(0, |retries| retries.load(Ordering::SeqCst))
    }
}

/// The state that the clients of a process share.
pub(crate) struct Arena {
    pub(crate) names: ObjectNames,
    pub(crate) log: CallLog,
    board: Mutex<Board>,
    clock: AtomicI64,
    /// Held for writing while the nemesis strikes.
    calm: RwLock<()>,
    progress: Notify,
    is_over: AtomicBool,
    /// The prefix of names and numbers, which differs between processes.
    process: u64,
    jumps: bool,
    appends: bool,
}

impl Arena {
    pub(crate) fn new(run: &ClientRun, log: CallLog, process: u64) -> Self {
        Self {
            names: ObjectNames::of_user(&run.user),
            log,
            board: Mutex::default(),
            clock: AtomicI64::new(BEGIN),
            calm: RwLock::new(()),
            progress: Notify::new(),
            is_over: AtomicBool::new(false),
            process,
            jumps: run.jumps,
            appends: run.appends,
        }
    }

    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a new time of the clock of a client.
    fn now(&self, random: &mut Random) -> i64 {
        let now = self.clock.fetch_add(1, Ordering::SeqCst);
        if self.jumps && random.one_in(2) {
            let jump = random.below(2 * FARTHEST) as i64;
            return now + jump - FARTHEST as i64;
        }
        now
    }

    /// Creates the chat, as the first call of a run.
    pub(crate) async fn begin(&self, store: &ClientStore) -> Result<(), RunFailure> {
        let at = self.clock.fetch_add(1, Ordering::SeqCst);
        self.until_answered(store, ClientCall::CreateChat { at }).await
    }

    /// Makes this many random calls, one after another.
    ///
    /// `called` learns of the end of each call.
    pub(crate) async fn live<E>(
        &self,
        store: &ClientStore,
        (client, seed): (usize, u64),
        calls: usize,
        called: impl Fn() -> Result<(), E> + Send,
    ) -> Result<(), E> {
        let mut random = Random::new(seed);
        let abilities = abilities(&*store.store);
        let prefix = if self.process == 0 { "c".to_owned() } else { format!("p{}-", self.process) };
        let mut names = ClientNames { client, prefix, made: 0 };
        let (mut again, mut unknown) = (None::<ClientCall>, 0);
        for _ in 0..calls {
            let call = match again.take() {
                Some(call) => call,
                None => {
                    let at = self.now(&mut random);
                    let agent = &self.names.agent;
                    match self.appends {
                        true => self.board().append(&mut random, &mut names, at),
                        false => self.board().next(&mut random, abilities, &mut names, agent, at),
                    }
                }
            };
            let lost = self.make(store, client, &call).await.is_none();
            called()?;
            let waits = random.below(4) > 0;
            // Half of the calls whose outcome is unknown are sent again.
            if lost && random.one_in(2) {
                again = Some(call);
            }
            if lost {
                unknown += 1;
                if waits || unknown > MOST_UNKNOWN {
                    let _calm = self.calm.read().await;
                }
            }
            // A store in memory never waits, so that one client would make all its calls at once.
            if random.one_in(3) {
                tokio::task::yield_now().await;
            }
        }
        Ok(())
    }

    /// Makes a call and records it. Returns `None` if its outcome is unknown.
    async fn make(&self, store: &ClientStore, client: usize, call: &ClientCall) -> Option<()> {
        static CALLS: AtomicU64 = AtomicU64::new(0);
        let id = (self.process << 32) + CALLS.fetch_add(1, Ordering::SeqCst);
        let retried = store.retries();
        self.log.begin(id, client, call);
        let made = call.make(&*store.store, &self.names);
        let answer = tokio::time::timeout(PATIENCE, made).await.unwrap_or_else(|_| {
            Err(Error::new(ErrorKind::Timeout, "linear", "no answer, so the call was dropped"))
        });
        let outcome = match &answer {
            Ok(reply) => CallOutcome::Replied(reply.to_string()),
            Err(error) => CallOutcome::of_error(error),
        };
        let is_known = outcome != CallOutcome::Unknown;
        self.log.end(id, outcome, store.retries() - retried);
        if let Ok(reply) = &answer {
            self.board().learn(call, reply);
        }
        self.progress.notify_one();
        is_known.then_some(())
    }

    async fn until_answered(
        &self,
        store: &ClientStore,
        call: ClientCall,
    ) -> Result<(), RunFailure> {
        let answered = async {
            while self.make(store, usize::MAX, &call).await.is_none() {
                tokio::task::yield_now().await;
            }
        };
        let answered = tokio::time::timeout(LAST_PATIENCE, answered).await;
        answered.map_err(|_| RunFailure::Unreachable(format!("{call:?}")))
    }

    /// Reads everything, after all other clients have ended.
    pub(crate) async fn end(&self, store: &ClientStore) -> Result<(), RunFailure> {
        self.until_answered(store, ClientCall::ReadBranches).await?;
        let reads = self.board().final_reads(abilities(&*store.store));
        for read in reads {
            self.until_answered(store, read).await?;
        }
        Ok(())
    }

    /// Says that the clients have ended.
    pub(crate) fn is_over(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        self.progress.notify_one();
    }

    /// Lets the nemesis strike, spread over this number of calls.
    pub(crate) async fn disturb(
        &self,
        nemesis: &mut dyn Nemesis,
        calls: u64,
        seed: u64,
    ) -> Result<(), RunFailure> {
        let mut random = Random::new(seed);
        let strikes = nemesis.strikes();
        for strike in 1..=strikes {
            let from = calls * strike / (strikes + 1);
            while self.log.ended() < from && !self.is_over.load(Ordering::SeqCst) {
                self.progress.notified().await;
            }
            let _storm = self.calm.write().await;
            nemesis.strike(&mut random).await.map_err(RunFailure::Nemesis)?;
        }
        Ok(())
    }
}

/// Returns what a store can do beside chats.
pub(crate) fn abilities(store: &dyn Store) -> Abilities {
    Abilities {
        streams: store.streams().is_some(),
        rounds: store.trajectories().is_some(),
        memories: store.memories().is_some(),
    }
}
