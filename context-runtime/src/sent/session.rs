//! A session of a replay: requests prepared one after the other.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use context_core::history::{StoredBoundary, Structure};
use context_core::message::{NodeKind, Text};
use context_core::model::TokenCounter;
use context_core::runtime::{CutOwner, ModelContext, PrepareInput};
use context_core::{Clock, ContextRuntime, Error, ErrorKind, Metadata, ModelRequest, Timestamp};
use futures_util::FutureExt;

use super::branch::{Branch, RequestEntry};
use super::plans::PlanLog;
use super::shown_history::{Shown, ShownHistory, rewrite_between, window_before};
use super::{ReplayError, ReplayOptions};
use crate::runtime::DefaultContextRuntime;
use crate::{PastPrompt, PromptHistory};

/// The maximum number of messages of the prepared requests that a session keeps.
const MOST_MESSAGES: usize = 4_000_000;

/// The parts of a request besides its messages.
#[derive(Debug)]
pub(super) struct StaticParts {
    /// The known parts, without the stored prompt.
    pub(super) request: ModelRequest,
    pub(super) prompts: Arc<PromptHistory>,
}

impl StaticParts {
    /// Returns the stored prompt of a request: as of its newest message, or of now if it is the
    /// next one.
    fn prompt(&self, branch: &Branch, entry: &RequestEntry) -> &PastPrompt {
        let newest = branch.positions.get(&entry.newest).filter(|_| entry.answer.is_some());
        newest.map_or_else(|| self.prompts.present(), |newest| self.prompts.at(*newest))
    }
}

/// A request as it was prepared.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) number: usize,
    pub(super) context: ModelContext,
    /// The history after the cuts, before its repair.
    pub(super) entries: Vec<Shown>,
    /// The number of cuts that were made until this request.
    pub(super) cuts: usize,
    pub(super) at: Timestamp,
    /// Whether the history begins with a compaction that this provider cannot read.
    pub(super) is_sealed: bool,
    /// Whether the system prompt is known to be the one of that time.
    pub(super) prompt_is_recorded: bool,
}

impl Prepared {
    fn weight(&self) -> usize {
        self.context.request.messages.len() + self.entries.len()
    }
}

/// A clock that shows the time of the request.
#[derive(Clone, Debug, Default)]
struct RequestClock(Arc<AtomicI64>);

impl Clock for RequestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::Relaxed))
    }
}

/// Requests of a branch from one request on, prepared with one session of a runtime.
#[derive(Debug)]
pub(super) struct Session {
    runtime: DefaultContextRuntime,
    clock: RequestClock,
    log: PlanLog,
    pub(super) history: ShownHistory,
    /// The first request.
    pub(super) start: usize,
    /// The next request to prepare.
    next: usize,
    prepared: VecDeque<Prepared>,
    held: usize,
}

impl Session {
    /// Creates a session that begins with a request.
    pub(super) fn new(
        branch: &Branch,
        options: &ReplayOptions,
        counter: Arc<dyn TokenCounter>,
        start: usize,
    ) -> Result<Self, ReplayError> {
        let (clock, log) = (RequestClock::default(), PlanLog::default());
        let builder = options.builder(counter).clock(clock.clone()).observer(log.clone());
        let runtime = builder.build()?;
        let end = branch.requests.get(start - 1).map_or(0, |first| first.end);
        let history = ShownHistory::of(branch, end, options.boundaries);
        let (prepared, held) = (VecDeque::new(), 0);
        Ok(Self { runtime, clock, log, history, start, next: start, prepared, held })
    }

    /// Returns the counter with which the runtime counts messages.
    pub(super) fn counter(&self) -> Arc<dyn TokenCounter> {
        self.runtime.default_counter()
    }

    /// Returns a request that was prepared and is still kept.
    pub(super) fn get(&self, number: usize) -> Option<&Prepared> {
        let first = self.prepared.front()?.number;
        self.prepared.get(number.checked_sub(first)?)
    }

    /// Whether a request was prepared and is no longer kept.
    pub(super) fn has_dropped(&self, number: usize) -> bool {
        number < self.next && self.get(number).is_none()
    }

    /// Prepares the requests up to this one.
    pub(super) fn prepare_to(
        &mut self,
        branch: &Branch,
        options: &ReplayOptions,
        parts: &StaticParts,
        number: usize,
    ) -> Result<(), ReplayError> {
        while self.next <= number {
            let Some(entry) = branch.requests.get(self.next - 1) else { break };
            let prepared = self.prepare(branch, options, parts, entry)?;
            self.held += prepared.weight();
            self.prepared.push_back(prepared);
            self.next += 1;
            while self.held > MOST_MESSAGES && self.prepared.len() > 2 {
                self.held -= self.prepared.pop_front().map_or(0, |oldest| oldest.weight());
            }
        }
        Ok(())
    }

    fn prepare(
        &mut self,
        branch: &Branch,
        options: &ReplayOptions,
        parts: &StaticParts,
        entry: &RequestEntry,
    ) -> Result<Prepared, ReplayError> {
        self.history.advance(branch, entry.end, options.boundaries);
        self.clock.0.store(entry.at.as_micros(), Ordering::Relaxed);
        let (given, cuts) = (self.history.entries.clone(), self.history.cuts.len());
        let is_sealed = Structure::is_sealed_for(&self.history.messages(), &options.provider);
        let own = own_boundary(branch, entry).filter(|_| options.boundaries);

        let prompt = parts.prompt(branch, entry);
        let mut input = self.input(branch, options, &parts.request);
        let known = std::mem::take(&mut input.request.system);
        input.request = input.request.system(&*prompt.text);
        input.request.system.extend(known);
        let _ = self.log.take();
        let mut context = self.call(input.clone(), entry.number)?;
        let mut plans = std::mem::take(&mut context.plans);
        self.carry_out(&context, entry.number);
        if let Some((position, boundary)) = own {
            let id = &branch.chain[position].id;
            let target = window_before(branch, &boundary, position, entry.end);
            if !self.history.is(&target) {
                // The call was cut in a way that the runtime alone does not find: by a summary,
                // after a refusal, or with other options.
                self.history.cuts.truncate(cuts);
                self.history.entries.clone_from(&given);
                input.rewrite = Some(rewrite_between(&given, &target));
                self.history.adopt(branch, &boundary, id, target, Some(entry.number));
                context = self.call(input, entry.number)?;
                plans = std::mem::take(&mut context.plans);
                self.carry_out(&context, entry.number);
            } else {
                self.history.adopt(branch, &boundary, id, target, Some(entry.number));
            }
        }
        context.plans = plans;
        (context.rewrite, context.summary) = (None, None);
        Ok(Prepared {
            number: entry.number,
            context,
            entries: self.history.entries.clone(),
            cuts: self.history.cuts.len(),
            at: entry.at,
            is_sealed,
            prompt_is_recorded: prompt.is_recorded,
        })
    }

    /// Returns the input of a call with the history.
    fn input(
        &self,
        branch: &Branch,
        options: &ReplayOptions,
        parts: &ModelRequest,
    ) -> PrepareInput {
        let is_request = |shown: &&Shown| shown.message.is_request();
        let newest = self.history.entries.iter().rev().find(is_request);
        let turn = newest.and_then(|shown| branch.chain.get(shown.stored? as usize));
        let turn = turn.map_or("", |node| node.id.as_str());
        let mut input = PrepareInput::new(&options.chat, turn, options.provider.as_str(), "");
        input.request = parts.clone();
        input.request.messages = self.history.messages().into();
        input.instructions = options.instructions.iter().map(|text| text_part(text)).collect();
        input.cuts = CutOwner::Caller;
        input
    }

    /// Prepares a call. Nothing is waited for: there is no memory and no store.
    fn call(&self, input: PrepareInput, number: usize) -> Result<ModelContext, ReplayError> {
        let waits = || Error::new(ErrorKind::Unsupported, "replay", "the runtime waits");
        let prepared = self.runtime.prepare_for_model(input).now_or_never();
        prepared
            .unwrap_or_else(|| Err(waits()))
            .map_err(|source| ReplayError::Prepare { number, source })
    }

    fn carry_out(&mut self, context: &ModelContext, number: usize) {
        let plans = self.log.take();
        if let Some(rewrite) = context.rewrite.as_ref().filter(|_| !plans.is_empty()) {
            self.history.carry_out(&plans, &rewrite.messages, number);
        }
    }
}

fn text_part(text: &str) -> Text {
    let (text, metadata) = (text.to_owned(), Metadata::default());
    Text { text: text.into(), metadata }
}

/// Returns the boundary that was made for a request: it is stored behind the answer, and was made
/// when the answer was taken over, and no later.
fn own_boundary(branch: &Branch, entry: &RequestEntry) -> Option<(usize, StoredBoundary)> {
    let answer = branch.chain.get(entry.end).filter(|_| entry.answer.is_some())?;
    let behind = entry.end + 1..branch.next_end(entry.number);
    behind.into_iter().find_map(|position| {
        let node = branch.chain.get(position)?;
        let is_own = node.kind == NodeKind::Boundary && node.created_at <= answer.created_at;
        let boundary = is_own.then(|| StoredBoundary::decode(node.body()).ok())??;
        boundary.undoes.is_none().then_some((position, boundary))
    })
}
