//! Which portraits are to be made, are being made, and failed.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use context_core::base::CancelSource;
use context_core::model::LanguageModel;
use context_core::trajectory::AgentRef;
use context_core::trajectory::{Node, NodeId, Round};
use tokio::sync::{Semaphore, watch};

use super::failure::{PortraitError, PortraitFailure, PortraitReport};
use super::job::Painter;
use super::options::PortraitOptions;
use super::preview::{HostPreviews, ReadPreview};
use super::prompt::is_described;
use crate::{OpenRound, RecordError};

/// Who is named as the author of descriptions.
const AUTHOR: &str = "portrait";

/// Describes data nodes in the background. Cheap to clone; clones share everything. One for a run,
/// or one for a process: what is bounded is bounded for all open rounds that use it.
///
/// A node is asked about once: while its portrait is on its way, it is not scheduled again, and
/// what has a description, from whomever, is left alone, also if that came while the model was
/// thinking. What failed is [reported](Self::failures) and tried again by the next
/// [`schedule`](Self::schedule) that meets it.
///
/// Portraits run as tasks of Tokio and hold their round open until they are done. Dropping this
/// stops none of them; [`cancel`](Self::cancel) does.
#[derive(Clone)]
pub struct Portraits(Arc<Shared>);

struct Shared {
    painter: Painter,
    cancel: CancelSource,
    author: Arc<str>,
    room: Semaphore,
    /// How many are scheduled and not done.
    pending: watch::Sender<usize>,
    state: Mutex<State>,
}

type Key = (AgentRef, NodeId);

#[derive(Default)]
struct State {
    pending: HashSet<Key>,
    failed: BTreeMap<Key, Failed>,
    described: u64,
}

struct Failed {
    error: Arc<PortraitError>,
    /// A description that could not be written.
    text: Option<String>,
}

/// Where the round of a node is read when its turn comes.
enum Source {
    /// In the open round, which may have changed by then.
    Present,
    /// An earlier round.
    Earlier(Arc<Round>),
}

impl Portraits {
    /// By this model, with the files below the working folder.
    pub fn new(model: Arc<dyn LanguageModel>, options: PortraitOptions) -> Self {
        Self::with_previews(model, options, Arc::new(HostPreviews::default()))
    }

    /// By this model, with files that are read like this.
    pub fn with_previews(
        model: Arc<dyn LanguageModel>,
        options: PortraitOptions,
        previews: Arc<dyn ReadPreview>,
    ) -> Self {
        let cancel = CancelSource::new();
        let room = Semaphore::new(options.concurrency.clamp(1, Semaphore::MAX_PERMITS));
        let painter = Painter { model, previews, options, cancel: cancel.signal() };
        let pending = watch::Sender::new(0);
        let shared = Shared {
            painter,
            cancel,
            author: AUTHOR.into(),
            room,
            pending,
            state: Mutex::default(),
        };
        Self(Arc::new(shared))
    }

    /// Schedules every data node of the round and its earlier rounds that has no description and is
    /// not on its way. Returns how many; waits for no portrait, and for earlier rounds only when
    /// they are first read. If these cannot be read, those of the present are scheduled
    /// nevertheless.
    pub async fn schedule(&self, open: &OpenRound) -> Result<usize, RecordError> {
        let mut scheduled = self.schedule_round(open, &open.round(), || Source::Present);
        let trajectory = open.trajectory().await?;
        for round in
            trajectory.rounds().filter(|round| round.round().round < open.reference().round)
        {
            scheduled += self.schedule_round(open, round, || Source::Earlier(round.clone()));
        }
        Ok(scheduled)
    }

    fn schedule_round(
        &self,
        open: &OpenRound,
        round: &Round,
        source: impl Fn() -> Source,
    ) -> usize {
        let mut scheduled = 0;
        for node in round.nodes().filter(|node| is_described(node.kind())) {
            let key = (open.reference().agent.clone(), node.id);
            if !node.description.is_empty() {
                self.0.state().failed.remove(&key);
            } else if let Some((job, text)) = Job::begin(&self.0, open, key) {
                tokio::spawn(job.run(node.clone(), source(), text));
                scheduled += 1;
            }
        }
        scheduled
    }

    /// Waits until every portrait is done, or the limit is over, and says how things stand. Those
    /// that take longer go on and are written when they come.
    pub async fn await_all(&self, limit: Duration) -> PortraitReport {
        let mut pending = self.0.pending.subscribe();
        // That the limit is over is seen in the report.
        let _ = tokio::time::timeout(limit, pending.wait_for(|pending| *pending == 0)).await;
        self.report()
    }

    /// How things stand.
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

    /// What failed and was not tried again since, by agent and node.
    pub fn failures(&self) -> Vec<PortraitFailure> {
        self.report().failures
    }

    /// Stops all portraits that are not done, for good: what is scheduled later fails as
    /// [`Cancelled`](PortraitError::Cancelled) too. A description that is being written is written.
    pub fn cancel(&self) {
        self.0.cancel.cancel();
    }
}

impl fmt::Debug for Portraits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.0.state();
        let mut shown = f.debug_struct("Portraits");
        shown
            .field("model", &self.0.painter.model.name())
            .field("options", &self.0.painter.options);
        shown.field("described", &state.described).field("pending", &state.pending.len());
        shown.field("failed", &state.failed.len()).finish_non_exhaustive()
    }
}

impl Shared {
    /// No code that can panic runs under the lock.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A portrait on its way. However its task ends, that is seen.
struct Job {
    shared: Arc<Shared>,
    open: OpenRound,
    key: Key,
    /// What becomes of it; nothing for the good end.
    failed: Option<Failed>,
    described: bool,
}

impl Job {
    /// Takes a node that is not on its way, and the description that it only lacks.
    fn begin(shared: &Arc<Shared>, open: &OpenRound, key: Key) -> Option<(Self, Option<String>)> {
        let mut state = shared.state();
        if !state.pending.insert(key.clone()) {
            return None;
        }
        let text = state.failed.remove(&key).and_then(|failed| failed.text);
        drop(state);
        shared.pending.send_modify(|pending| *pending += 1);
        let failed = Some(Failed { error: Arc::new(PortraitError::Ended), text: text.clone() });
        let job =
            Self { shared: shared.clone(), open: open.clone(), key, failed, described: false };
        Some((job, text))
    }

    async fn run(mut self, node: Arc<Node>, source: Source, text: Option<String>) {
        let shared = self.shared.clone();
        // The semaphore is never closed.
        let Ok(_room) = shared.room.acquire().await else { return };
        if text.is_none() && shared.painter.cancel.is_cancelled() {
            return self.fail(PortraitError::Cancelled, None);
        }
        let text = match text {
            Some(text) => text,
            None => {
                let round = match source {
                    Source::Present => self.open.round(),
                    Source::Earlier(round) => round,
                };
                // It may be gone, described or changed since.
                let Some(node) = round.node(node.id).cloned() else { return self.done(false) };
                if !node.description.is_empty() {
                    return self.done(false);
                }
                match shared.painter.portray(round, node).await {
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
        self.failed = Some(Failed { error: Arc::new(error), text });
    }
}

impl Drop for Job {
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
