//! The replay of a branch's requests.

use std::sync::Arc;

use context_core::model::ModelCodec;
use context_core::runtime::ModelContext;
use context_core::{Chain, MessageId};
use context_tokens::{CachedCounter, WindowSource};

use super::branch::{Branch, RequestEntry};
use super::report::{ReportSource, RequestReport};
use super::session::{Session, StaticParts};
use super::{ReplayError, ReplayOptions, RequestDiff};
use crate::PromptHistory;

/// The number of messages whose counts a replay keeps at least.
const COUNTED: usize = 1 << 16;

/// The requests of one branch, recomputed. See the [module](super).
#[derive(Debug)]
pub struct RequestReplay {
    branch: Arc<Branch>,
    options: ReplayOptions,
    parts: StaticParts,
    codec: Arc<dyn ModelCodec>,
    window_source: WindowSource,
    counter: Arc<CachedCounter>,
    session: Option<Session>,
}

impl RequestReplay {
    /// Creates a replay of a whole branch with its boundaries, such as
    /// [`AsOf::history`](crate::AsOf::history). `prompts` are the stored prompts of the chat at
    /// the time of each request, by
    /// [`ContextEngine::prompt_history`](crate::ContextEngine::prompt_history), or one text for
    /// all; empty for none.
    ///
    /// Nothing is prepared yet, and no body is parsed.
    pub fn new(
        chain: &Chain,
        prompts: impl Into<PromptHistory>,
        options: ReplayOptions,
    ) -> Result<Self, ReplayError> {
        if chain.skipped() > 0 {
            return Err(ReplayError::NotWhole { skipped: chain.skipped() });
        }
        let branch = Arc::new(Branch::new(chain));
        Self::of(branch, Arc::new(prompts.into()), options, None)
    }

    /// Creates a replay of the same branch with other options: a what-if. Messages that were parsed
    /// are shared, and so are their counts if the model is the same.
    pub fn with_options(&self, options: ReplayOptions) -> Result<Self, ReplayError> {
        let counter = options.counts_like(&self.options).then(|| Arc::clone(&self.counter));
        Self::of(Arc::clone(&self.branch), Arc::clone(&self.parts.prompts), options, counter)
    }

    fn of(
        branch: Arc<Branch>,
        prompts: Arc<PromptHistory>,
        options: ReplayOptions,
        counter: Option<Arc<CachedCounter>>,
    ) -> Result<Self, ReplayError> {
        let (codec, window_source) = options.check()?;
        let capacity = branch.chain.len().max(COUNTED);
        let counter = counter.unwrap_or_else(|| {
            Arc::new(CachedCounter::with_capacity(options.plain_counter(), capacity))
        });
        let parts = StaticParts { request: options.parts(), prompts };
        let mut replay =
            Self { branch, options, parts, codec, window_source, counter, session: None };
        // Invalid stages are reported now.
        if !replay.branch.requests.is_empty() {
            replay.session = Some(replay.session_from(1)?);
        }
        Ok(replay)
    }

    /// The options.
    pub fn options(&self) -> &ReplayOptions {
        &self.options
    }

    /// The source of the window.
    pub fn window_source(&self) -> WindowSource {
        self.window_source
    }

    /// The requests of the branch, oldest first. The request of number n is at n - 1.
    pub fn requests(&self) -> &[RequestEntry] {
        &self.branch.requests
    }

    /// Returns the number of the request that a message answers. `None` for a message that is no
    /// answer of this branch.
    pub fn request_of(&self, answer: &MessageId) -> Option<usize> {
        self.branch.request_of(answer)
    }

    /// Returns the number of the first request that was made when a message was there, as itself or
    /// cut. `None` for a message that no request of this branch followed.
    pub fn request_with(&self, message: &MessageId) -> Option<usize> {
        self.branch.request_with(message)
    }

    /// Returns the report of a request.
    pub fn report(&mut self, number: usize) -> Result<RequestReport, ReplayError> {
        self.report_from(number, self.start(number))
    }

    /// Returns the request as the runtime prepared it for the codec. Its plans and its rewrite are
    /// in the [report](Self::report).
    pub fn prepared(&mut self, number: usize) -> Result<&ModelContext, ReplayError> {
        self.prepare(number, self.start(number))?;
        let prepared = self.session.as_ref().and_then(|session| session.get(number));
        Ok(&prepared.ok_or_else(|| self.no_request(number))?.context)
    }

    /// Returns the difference of two requests, usually of two neighbours, which are of one session.
    /// Of requests that are further apart than the block before the later one, each is prepared in
    /// a session of its own.
    pub fn diff(&mut self, before: usize, after: usize) -> Result<RequestDiff, ReplayError> {
        if before >= after {
            return Err(ReplayError::Order { before, after });
        }
        let start = self.start(after);
        let older = match before >= start {
            true => self.report_from(before, start)?,
            false => self.report(before)?,
        };
        let newer = self.report_from(after, start)?;
        Ok(RequestDiff::between(&older, &newer))
    }

    pub(super) fn branch(&self) -> &Branch {
        &self.branch
    }

    /// Returns the first request of the session in which a request is prepared: the beginning of
    /// the block before its own.
    fn start(&self, number: usize) -> usize {
        let block = self.options.block.max(1);
        let own = number.saturating_sub(1) / block;
        own.saturating_sub(1) * block + 1
    }

    fn no_request(&self, number: usize) -> ReplayError {
        ReplayError::NoRequest { number, requests: self.branch.requests.len() }
    }

    /// Returns a new session that begins with a request.
    pub(super) fn session_from(&self, start: usize) -> Result<Session, ReplayError> {
        Session::new(&self.branch, &self.options, self.counter.clone(), start)
    }

    /// Prepares the requests of a session up to this one.
    pub(super) fn prepare_in(
        &self,
        session: &mut Session,
        number: usize,
    ) -> Result<(), ReplayError> {
        session.prepare_to(&self.branch, &self.options, &self.parts, number)
    }

    /// Prepares a request and the one before it in a session that begins with `start`.
    fn prepare(&mut self, number: usize, start: usize) -> Result<(), ReplayError> {
        if number == 0 || number > self.branch.requests.len() {
            return Err(self.no_request(number));
        }
        let earlier = (number - 1).max(start);
        let fits = self.session.as_ref().is_some_and(|session| {
            session.start == start && !session.has_dropped(earlier) && !session.has_dropped(number)
        });
        if !fits {
            self.session = Some(self.session_from(start)?);
        }
        match &mut self.session {
            Some(session) => session.prepare_to(&self.branch, &self.options, &self.parts, number),
            None => Err(self.no_request(number)),
        }
    }

    fn report_from(&mut self, number: usize, start: usize) -> Result<RequestReport, ReplayError> {
        self.prepare(number, start)?;
        let found = self.session.as_ref().and_then(|session| {
            Some((session, session.get(number)?, self.branch.requests.get(number - 1)?))
        });
        let Some((session, now, entry)) = found else { return Err(self.no_request(number)) };
        let source = ReportSource {
            branch: &self.branch,
            options: &self.options,
            codec: &*self.codec,
            window_source: self.window_source,
            session,
        };
        source.report(entry, session.get(number - 1), now)
    }
}
