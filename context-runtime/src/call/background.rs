//! Summaries that are written while the conversation goes on.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use context_core::history::SummaryTask;
use context_core::model::{LanguageModel, Usage};
use context_core::runtime::TurnRef;
use context_core::{
    Answer, CancelSignal, ChatRef, Message, Messages, ModelError, ModelRequest, UserId,
};
use futures_util::FutureExt;
use tokio::task::JoinHandle;
use tracing::Instrument;

use super::cost_usd;
use crate::observer::BegunCall;
use crate::trace;

/// The most summaries that are held at once. The oldest is given up for another.
const MOST: usize = 1_000;

/// The summaries that models write while conversations go on, one for each chat.
///
/// A runtime requests such a summary at a [lower fill level](crate::compaction::Stage::ahead) than
/// the one that forces it. The next call of the chat takes it over when it is ready, if the
/// conversation has only grown, and no turn waits. A call for which a summary is needed waits for
/// the one that was begun. What is dropped with the process costs its request, and nothing else.
///
/// Give the same value to every [`ModelCall`](crate::ModelCall) of an agent;
/// [`Agents`](crate::Agents) does. Clones share the summaries.
#[derive(Clone, Debug, Default)]
pub struct BackgroundSummaries {
    jobs: Arc<Mutex<Jobs>>,
}

#[derive(Debug, Default)]
struct Jobs {
    begun: u64,
    /// The number of calls that gave summaries up.
    given_up: u64,
    of_chats: HashMap<ChatRef, (u64, SummaryJob)>,
}

impl Jobs {
    /// Adds a summary, in the place of the oldest one if there are too many.
    fn insert(&mut self, chat: &ChatRef, job: SummaryJob) {
        let oldest = self.of_chats.iter().min_by_key(|(_, (begun, _))| *begun);
        let oldest = oldest.filter(|_| self.of_chats.len() >= MOST);
        if let Some(oldest) = oldest.map(|(chat, _)| chat.clone()) {
            self.of_chats.remove(&oldest);
        }
        self.begun += 1;
        self.of_chats.insert(chat.clone(), (self.begun, job));
    }
}

/// A summary that is being written.
#[derive(Debug)]
pub(super) struct SummaryJob {
    pub(super) task: Box<SummaryTask>,
    /// The messages of the history when it was requested.
    shown: Messages,
    /// Their tokens.
    pub(super) before: u64,
    writing: JoinHandle<WrittenSummary>,
}

/// The reply to the request for a summary.
#[derive(Debug)]
pub(super) struct WrittenSummary {
    pub(super) reply: Result<Answer, ModelError>,
    pub(super) usage: Option<Usage>,
    pub(super) cost_usd: Option<f64>,
}

impl BackgroundSummaries {
    /// Returns a value without summaries.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of summaries that are being written, or are ready and not taken over.
    pub fn len(&self) -> usize {
        self.with(|jobs| jobs.of_chats.len())
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns whether a summary of a chat is being written, or is ready and not taken over.
    pub fn is_running(&self, chat: &ChatRef) -> bool {
        self.with(|jobs| jobs.of_chats.contains_key(chat))
    }

    /// Gives up the summary of a chat, such as one that is deleted.
    pub fn forget_chat(&self, chat: &ChatRef) {
        self.with(|jobs| {
            jobs.given_up += 1;
            jobs.of_chats.remove(chat);
        });
    }

    /// Gives up the summaries of all chats of a user, such as one that is erased.
    pub fn forget_user(&self, user: &UserId) {
        self.with(|jobs| {
            jobs.given_up += 1;
            jobs.of_chats.retain(|chat, _| chat.user != *user);
        });
    }

    /// Gives up all summaries.
    #[cfg(feature = "agents")]
    pub(crate) fn forget_all(&self) {
        self.with(|jobs| {
            jobs.given_up += 1;
            jobs.of_chats.clear();
        });
    }

    pub(super) fn begin(&self, chat: &ChatRef, job: SummaryJob) {
        self.with(|jobs| jobs.insert(chat, job));
    }

    /// Removes the summary of a chat and returns it, ready or not, with what
    /// [`put_back`](Self::put_back) needs.
    pub(super) fn take(&self, chat: &ChatRef) -> Option<(SummaryJob, u64)> {
        self.with(|jobs| Some((jobs.of_chats.remove(chat)?.1, jobs.given_up)))
    }

    /// Puts back a summary that was taken, unless summaries were given up meanwhile: it may be of a
    /// user who was erased.
    pub(super) fn put_back(&self, chat: &ChatRef, (job, given_up): (SummaryJob, u64)) {
        self.with(|jobs| {
            if jobs.given_up == given_up {
                jobs.insert(chat, job);
            }
        });
    }

    /// Removes the summary of a chat and returns it with the reply, if it is ready.
    pub(super) fn take_ready(
        &self,
        chat: &ChatRef,
    ) -> Option<(SummaryJob, Option<WrittenSummary>)> {
        let job = self.with(|jobs| {
            jobs.of_chats.get(chat).filter(|(_, job)| job.writing.is_finished())?;
            jobs.of_chats.remove(chat)
        });
        let (_, mut job) = job?;
        let written = job.written().now_or_never()?;
        Some((job, written))
    }

    fn with<T>(&self, use_jobs: impl FnOnce(&mut Jobs) -> T) -> T {
        use_jobs(&mut self.jobs.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl SummaryJob {
    pub(super) fn new(
        task: Box<SummaryTask>,
        shown: Messages,
        before: u64,
        writing: JoinHandle<WrittenSummary>,
    ) -> Self {
        Self { task, shown, before, writing }
    }

    /// Returns the reply when it is there; to be asked once. `None` if the task that waits for it
    /// has ended without one, as on a panic of the model.
    pub(super) async fn written(&mut self) -> Option<WrittenSummary> {
        (&mut self.writing).await.ok()
    }

    /// Returns whether a history begins with the one that the summary was requested for.
    pub(super) fn begins(&self, history: &Messages) -> bool {
        let is =
            |(shown, now): (&Arc<Message>, &Arc<Message>)| Arc::ptr_eq(shown, now) || shown == now;
        history.len() >= self.shown.len() && self.shown.iter().zip(history).all(is)
    }
}

impl Drop for SummaryJob {
    fn drop(&mut self) {
        self.writing.abort();
    }
}

impl WrittenSummary {
    /// Asks a model for a summary, on behalf of a turn. Observers are told of the end.
    pub(super) async fn write(
        model: Arc<dyn LanguageModel>,
        request: ModelRequest,
        (turn, (provider, name)): (TurnRef, (String, String)),
        begun: Option<BegunCall>,
        cancel: CancelSignal,
    ) -> Self {
        let span = trace::call(&turn.chat, &provider, &name);
        let reply = model.complete(&request, &cancel).instrument(span.clone()).await;
        let usage = reply.as_ref().ok().and_then(|answer| answer.usage);
        let cost_usd = usage.and_then(|usage| cost_usd(&name, &usage));
        if let Some(usage) = &usage {
            trace::record_usage(&span, usage);
        }
        let reply = match reply {
            Ok(Answer { error: Some(error), .. }) => Err(error),
            reply => reply,
        };
        if let Some(begun) = begun {
            begun.replied(usage, cost_usd, reply.as_ref().err().map(|error| error.code));
        }
        Self { reply, usage, cost_usd }
    }
}
