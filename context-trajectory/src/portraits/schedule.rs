//! Scheduling portraits and tracking their state.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use context_core::base::CancelSource;
use context_core::model::LanguageModel;
use context_core::trajectory::{AgentRef, NodeId, Round, TrajectoryNode};
use tokio::sync::{Semaphore, watch};

use super::failure::{PortraitError, PortraitFailure, PortraitReport};
use super::maker::PortraitMaker;
use super::options::PortraitOptions;
use super::preview::{HostPreviews, ReadPreview};
use super::prompt::is_described;
use crate::{OpenRound, RecordError};

/// The author of descriptions.
const AUTHOR: &str = "portrait";

/// Describes data nodes in the background. Cheap to clone. Clones share all state. Use one instance
/// per run or one per process; the concurrency limit applies to all open rounds that use the
/// instance.
///
/// A node is described once. It is not scheduled again while its portrait is pending, and a
/// description from another author is never replaced, even if it was written during the model call.
/// Failed portraits are [reported](Self::failures) and retried by the next
/// [`schedule`](Self::schedule) that covers the node.
///
/// Portraits run as Tokio tasks and keep their round open until they are done. Dropping this value
/// stops none of them; [`cancel`](Self::cancel) does.
#[derive(Clone)]
pub struct Portraits(Arc<Shared>);

struct Shared {
    maker: PortraitMaker,
    cancel: CancelSource,
    author: Arc<str>,
    room: Semaphore,
    /// The number of scheduled, unfinished portraits.
    pending: watch::Sender<usize>,
    state: Mutex<State>,
}

type Key = (AgentRef, NodeId);

#[derive(Default)]
struct State {
    pending: HashSet<Key>,
    failed: BTreeMap<Key, FailedPortrait>,
    described: u64,
}

struct FailedPortrait {
    error: Arc<PortraitError>,
    /// A description that could not be written.
    text: Option<String>,
}

/// The round from which a node is read when its portrait starts.
enum NodeSource {
    /// The open round, which may have changed by then.
    Present,
    /// An earlier round.
    Earlier(Arc<Round>),
}

impl Portraits {
    /// Creates portraits by this model, reading files below the working folder.
    pub fn new(model: Arc<dyn LanguageModel>, options: PortraitOptions) -> Self {
        Self::with_previews(model, options, Arc::new(HostPreviews::default()))
    }

    /// Creates portraits by this model, with a custom file reader.
    pub fn with_previews(
        model: Arc<dyn LanguageModel>,
        options: PortraitOptions,
        previews: Arc<dyn ReadPreview>,
    ) -> Self {
        let cancel = CancelSource::new();
        let room = Semaphore::new(options.concurrency.clamp(1, Semaphore::MAX_PERMITS));
        let maker = PortraitMaker { model, previews, options, cancel: cancel.signal() };
        let pending = watch::Sender::new(0);
        let shared =
            Shared { maker, cancel, author: AUTHOR.into(), room, pending, state: Mutex::default() };
        Self(Arc::new(shared))
    }

    /// Schedules every data node of the round and the earlier rounds that has no description and no
    /// pending portrait. Returns the number of scheduled nodes. Does not wait for portraits, and
    /// waits for earlier rounds only when they are first read. If the earlier rounds cannot be
    /// read, the nodes of this round are scheduled nevertheless.
    pub async fn schedule(&self, open: &OpenRound) -> Result<usize, RecordError> {
        let mut scheduled = self.schedule_round(open, &open.round(), || NodeSource::Present);
        let trajectory = open.trajectory().await?;
        for round in
            trajectory.rounds().filter(|round| round.round().round < open.reference().round)
        {
            scheduled += self.schedule_round(open, round, || NodeSource::Earlier(round.clone()));
        }
        Ok(scheduled)
    }

    fn schedule_round(
        &self,
        open: &OpenRound,
        round: &Round,
        source: impl Fn() -> NodeSource,
    ) -> usize {
        let mut scheduled = 0;
        for node in round.nodes().filter(|node| is_described(node.kind())) {
            let key = (open.reference().agent.clone(), node.id);
            if !node.description.is_empty() {
                self.0.state().failed.remove(&key);
            } else if let Some((maker, text)) = PortraitJob::begin(&self.0, open, key) {
                tokio::spawn(maker.run(node.clone(), source(), text));
                scheduled += 1;
            }
        }
        scheduled
    }

    /// Waits until every portrait is done or the time limit is over, and returns the state.
    /// Unfinished portraits continue, and their results are written.
    pub async fn await_all(&self, limit: Duration) -> PortraitReport {
        let mut pending = self.0.pending.subscribe();
        // A timeout shows in the report as pending portraits.
        let _ = tokio::time::timeout(limit, pending.wait_for(|pending| *pending == 0)).await;
        self.report()
    }

    /// Returns the state of all portraits.
    pub fn report(&self) -> PortraitReport {
        let state = self.0.state();
        let failures = state.failed.iter().map(|((agent, node), failed)| PortraitFailure {
            agent: agent.clone(),
            node: *node,
            error: failed.error.clone(),
        });
        PortraitReport {
            described: state.described,
            pending: state.pending.len(),
            failures: failures.collect(),
        }
    }

    /// Returns the failed portraits that were not retried since, by agent and node.
    pub fn failures(&self) -> Vec<PortraitFailure> {
        self.report().failures
    }

    /// Cancels all unfinished portraits permanently: portraits scheduled later fail with
    /// [`Cancelled`](PortraitError::Cancelled) too. A description that is being written is still
    /// written.
    pub fn cancel(&self) {
        self.0.cancel.cancel();
    }
}

impl fmt::Debug for Portraits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.0.state();
        let mut shown = f.debug_struct("Portraits");
        shown.field("model", &self.0.maker.model.name()).field("options", &self.0.maker.options);
        shown.field("described", &state.described).field("pending", &state.pending.len());
        shown.field("failed", &state.failed.len()).finish_non_exhaustive()
    }
}

impl Shared {
    /// Locks the state. No code that can panic runs under this lock.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A pending portrait. Dropping it records the outcome, however the task ends.
struct PortraitJob {
    shared: Arc<Shared>,
    open: OpenRound,
    key: Key,
    /// The failure to record on drop, or `None` for success.
    failed: Option<FailedPortrait>,
    described: bool,
}

impl PortraitJob {
    /// Marks a node as pending unless it already is. Also returns a description that only has to be
    /// written.
    fn begin(shared: &Arc<Shared>, open: &OpenRound, key: Key) -> Option<(Self, Option<String>)> {
        let mut state = shared.state();
        if !state.pending.insert(key.clone()) {
            return None;
        }
        let text = state.failed.remove(&key).and_then(|failed| failed.text);
        drop(state);
        shared.pending.send_modify(|pending| *pending += 1);
        let failed =
            Some(FailedPortrait { error: Arc::new(PortraitError::Ended), text: text.clone() });
        let maker =
            Self { shared: shared.clone(), open: open.clone(), key, failed, described: false };
        Some((maker, text))
    }

    async fn run(mut self, node: Arc<TrajectoryNode>, source: NodeSource, text: Option<String>) {
        let shared = self.shared.clone();
        // The semaphore is never closed.
        let Ok(_room) = shared.room.acquire().await else { return };
        if text.is_none() && shared.maker.cancel.is_cancelled() {
            return self.fail(PortraitError::Cancelled, None);
        }
        let text = match text {
            Some(text) => text,
            None => {
                let round = match source {
                    NodeSource::Present => self.open.round(),
                    NodeSource::Earlier(round) => round,
                };
                // The node may have been removed, described or changed since.
                let Some(node) = round.node(node.id).cloned() else { return self.done(false) };
                if !node.description.is_empty() {
                    return self.done(false);
                }
                match shared.maker.portray(round, node).await {
                    Ok(text) => text,
                    Err(error) => return self.fail(error, None),
                }
            }
        };
        match self.open.describe(node.id, &text, &shared.author).await {
            Ok(described) => self.done(described),
            Err(error) => self.fail(error.into(), Some(text)),
        }
    }

    fn done(&mut self, described: bool) {
        self.failed = None;
        self.described = described;
    }

    fn fail(&mut self, error: PortraitError, text: Option<String>) {
        self.failed = Some(FailedPortrait { error: Arc::new(error), text });
    }
}

impl Drop for PortraitJob {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.pending.remove(&self.key);
        state.described += u64::from(self.described);
        if let Some(failed) = self.failed.take() {
            state.failed.insert(self.key.clone(), failed);
        }
        drop(state);
        self.shared.pending.send_modify(|pending| *pending -= 1);
    }
}
