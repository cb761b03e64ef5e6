//! The driver of one model call: it prepares a request, leaves the sending to the caller, and tries
//! again in another form if the provider refuses.
//!
//! A [`ModelCall`] asks a [`ContextRuntime`] what to send and what to do about errors, and carries
//! the decisions out: it cuts, strips, requests summaries and waits. It holds no connection. The
//! given history stays the caller's. Cuts are reported ([`ModelCall::rewrite`]), so that a store
//! can keep them, and nothing is lost if the call fails or is cancelled.
//!
//! A call terminates: every request and every summary counts, and there are at most
//! [`CallOptions::max_calls`].

mod accept;
mod background;
mod cut;
mod error;
mod options;
mod prepare;
mod recover;
mod reply;
mod stream;
mod summary;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use background::BackgroundSummaries;
use context_core::history::{Attempt, HistoryRewrite, PlanReport};
use context_core::model::{
    AnswerDelta, AnswerStream, LanguageModel, LoweredRequest, ModelCodec, TokenCounter, Usage,
};
use context_core::runtime::{ModelContext, PrepareInput};
use context_core::{Answer, ChatRef, ContextRuntime, Diagnostic, Json, Message, ModelError};
use context_tokens::{CachedCounter, ModelTable};
pub use error::{CallError, Refusal};
pub use options::CallOptions;
use reply::State;
use tracing::Instrument;

use crate::cancellable::unless_cancelled;
use crate::observer::{BegunCall, Observer, Observers};
use crate::trace;
use crate::{DecisionSet, RecoveryChain};

/// One model call, until it is answered or given up.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> context_runtime::Result<()> {
/// use context_runtime::{ContextEngine, DefaultContextRuntime, ModelCall, provider, user};
///
/// # async fn send(body: &str) -> (u16, String) {
/// #     assert!(body.contains("Lisbon"));
/// #     (200, r#"{"role":"assistant","content":[{"type":"text","text":"Aisle?"}],"stop_reason":"end_turn"}"#.to_owned())
/// # }
/// let runtime = DefaultContextRuntime::builder().model("claude-sonnet-4-5").build()?;
/// # let store = context_runtime::open("mem:").await?;
/// # let mut chat = ContextEngine::builder(store).user("ada").chat("lisbon").open().await?;
/// chat.set([user("Two tickets to Lisbon, please.")]);
/// let turn = chat.resolve().await?;
///
/// let mut call = ModelCall::new(&runtime, provider("anthropic")?, turn.prepare());
/// while let Some(request) = call.next().await? {
///     let (status, body) = send(request.body().as_str()).await; // the program's own HTTP client
///     call.received(status, &body); // an overflow, a refused image, a busy provider: decided here
/// }
/// let answer = chat.accept(&turn, &call).await?; // what was cut, and what was answered, goes with the next save
/// assert_eq!(answer.message.plain_text(), "Aisle?");
/// # Ok(())
/// # }
/// ```
#[must_use = "a request is prepared only when `next` is called"]
pub struct ModelCall<'r> {
    runtime: &'r dyn ContextRuntime,
    codec: Arc<dyn ModelCodec>,
    /// The input of every request, with the cuts that were made for this call.
    input: PrepareInput,
    options: CallOptions,
    counter: Arc<dyn TokenCounter>,
    chain: RecoveryChain,
    summaries: Option<Arc<dyn LanguageModel>>,
    ahead: Option<BackgroundSummaries>,
    observers: Observers,
    /// The request that was handed out and not answered.
    begun: Option<BegunCall>,
    /// The most tokens the model writes, if the table knows.
    max_output: Option<u64>,
    state: State,
    /// The answer that arrives as events.
    stream: Option<Box<dyn AnswerStream>>,
    record: Record,
}

/// The record of the call so far.
#[derive(Debug, Default)]
struct Record {
    calls: u32,
    /// The usage of every reply, summaries included.
    usage: Usage,
    cost: CallCost,
    /// Tokens that should have been read from the provider's cache and were not.
    cache_lost: u64,
    /// Retries of the same request, waits included.
    retries: u32,
    /// The wait before the next request, if the program waits.
    wait: Duration,
    attempts: Vec<Attempt>,
    /// A decision that was carried out but not prepared yet, with the tokens of the history before.
    open: Option<(context_core::history::RecoveryDecision, u64)>,
    /// The tokens of the history before the compaction that the runtime is asked for.
    uncompacted: Option<u64>,
    /// Plans that an observer vetoed, until the next request reports them.
    vetoed: Vec<PlanReport>,
    /// Whether the compaction of the last decision was vetoed, and nothing was cut instead.
    uncut: bool,
    plans: Vec<PlanReport>,
    diagnostics: Vec<Diagnostic>,
    summarised: bool,
    /// Whether deltas of the newest answer were handed out.
    shown: bool,
    /// Whether the deltas of the answer before are void, and nobody was told yet.
    restarted: bool,
    output_grown: bool,
    lasting_output: Option<u64>,
    /// The newest request.
    sent: Option<SentRequest>,
    last_error: Option<ModelError>,
}

/// The cost of all replies of a call.
#[derive(Clone, Copy, Debug, Default)]
enum CallCost {
    #[default]
    Nothing,
    Usd(f64),
    /// A model that answered has no known price.
    Unknown,
}

impl Record {
    fn spend(&mut self, usage: &Usage, cost: Option<f64>) {
        self.usage += *usage;
        self.cost = match (self.cost, cost) {
            (CallCost::Nothing, Some(cost)) => CallCost::Usd(cost),
            (CallCost::Usd(all), Some(cost)) => CallCost::Usd(all + cost),
            _ => CallCost::Unknown,
        };
    }
}

/// Returns the cost of a reply in US dollars, if the model's price is known.
fn cost_usd(model: &str, usage: &Usage) -> Option<f64> {
    ModelTable::builtin().model(model).cost(usage).map(|cost| cost.amount)
}

/// Returns how many of the tokens that should have been read from the cache were not.
fn cache_lost(model: &str, reused: u64, usage: &Usage) -> u64 {
    let model = ModelTable::builtin().model(model);
    let is_cached = model.cache_rules().is_some_and(|rules| reused >= rules.minimum.max(1));
    let lost = reused.saturating_sub(usage.cache_read);
    if is_cached && lost >= reused / 10 { lost } else { 0 }
}

/// The metadata key of an answer that broke off. The value is the code of the error.
pub const INCOMPLETE: &str = "incomplete";

/// The numbers of a request that was handed out.
#[derive(Clone, Copy, Debug)]
struct SentRequest {
    tokens: u64,
    /// The part of these tokens that is outside the history.
    outside: u64,
    max_output: Option<u64>,
    /// The window it was prepared for.
    window: Option<u64>,
    /// The part that the provider should have in its prompt cache.
    reused: u64,
}

/// A request to send.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CallRequest {
    /// The prepared context, with the request in canonical form and its diagnostics.
    pub context: Arc<ModelContext>,
    /// The number of this call, counted from 1. Summaries count.
    pub number: u32,
    body: Json,
    /// Headers that the body needs besides those of every request; see
    /// [`LoweredRequest::headers`](crate::model::LoweredRequest). A program that sends the body
    /// itself adds them.
    pub headers: Vec<(&'static str, &'static str)>,
    /// The time to wait before sending. Zero unless [`CallOptions::sleep`] is off.
    pub wait: Duration,
    /// Repairs by the codec, and content that the wire form cannot express.
    pub diagnostics: Vec<Diagnostic>,
}

impl CallRequest {
    /// The body to send.
    pub fn body(&self) -> &Json {
        &self.body
    }
}

impl<'r> ModelCall<'r> {
    /// Creates a call that this runtime prepares and this codec lowers. `input` describes the call
    /// and has the conversation, usually [`Resolved::prepare`](crate::Resolved::prepare). An input
    /// without a provider gets the codec's, and one without a model gets the runtime's.
    pub fn new(
        runtime: &'r dyn ContextRuntime,
        codec: Arc<dyn ModelCodec>,
        mut input: PrepareInput,
    ) -> Self {
        if input.provider.is_empty() {
            input.provider = codec.name().to_owned();
        }
        if let (None, Some(model)) = (&input.request.model, runtime.default_model()) {
            input.request.model = Some(model.to_owned());
        }
        let model = input.request.model.as_deref().unwrap_or_default();
        let model = ModelTable::builtin().model(model);
        let counter = CachedCounter::new(Arc::new(model.counter()));
        let max_output = model.max_output();
        Self {
            runtime,
            codec,
            input,
            options: CallOptions::default(),
            counter: Arc::new(counter),
            chain: RecoveryChain::new(DecisionSet::Full),
            summaries: None,
            ahead: None,
            observers: Observers::default(),
            begun: None,
            max_output,
            state: State::Ready,
            stream: None,
            record: Record::default(),
        }
    }

    /// Sets the limits. Default: [`CallOptions::default`], eight requests and three retries. Use
    /// fewer for interactive calls and more for batch work.
    pub fn options(mut self, options: CallOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets the model that writes summaries when the runtime wants one. Default: none. Then no
    /// summary is requested, and the request is sent as prepared without it. Needed with a stage of
    /// `summarize`. A small and cheap model is enough. A model of the same name as the
    /// conversation's is taken for the same one, and may be sent the conversation's own request.
    pub fn summaries(mut self, model: Arc<dyn LanguageModel>) -> Self {
        self.summaries = Some(model);
        self
    }

    /// Lets the model write summaries before they are needed, while the conversation goes on.
    /// Default: each summary is waited for. Requires a tokio runtime.
    pub fn summaries_ahead(mut self, ahead: BackgroundSummaries) -> Self {
        self.ahead = Some(ahead);
        self
    }

    /// Sets the chain that carries out the runtime's decisions. Default: the built-in policies. Use
    /// the runtime's chain if it has policies of its own.
    pub fn recovery(mut self, chain: RecoveryChain) -> Self {
        self.chain = chain;
        self
    }

    /// Sets the counter for the history when it is cut. Default: the counter of the model. Use the
    /// runtime's counter if it has one of its own.
    pub fn counter(mut self, counter: Arc<dyn TokenCounter>) -> Self {
        self.counter = counter;
        self
    }

    /// Adds an observer of this call: its requests, its summaries, and cuts after a refusal. Use
    /// the [runtime's](crate::DefaultContextRuntime::observer), which is told of everything else.
    /// Default: none.
    pub fn observer(mut self, observer: impl Observer) -> Self {
        self.observers.add(observer);
        self
    }

    /// Returns the next request to send, or `None` once the call is answered. Cuts that were made
    /// for earlier requests of this call stay applied. Waits if the provider asked for a pause.
    ///
    /// A request that was handed out and not [answered](Self::answered) is considered lost and
    /// prepared again.
    pub async fn next(&mut self) -> Result<Option<CallRequest>, CallError> {
        let Some(context) = self.prepared().await? else { return Ok(None) };
        self.lowered(Arc::new(context)).map(Some)
    }

    /// Returns a prepared request in the provider's form.
    pub(crate) fn lowered(&mut self, context: Arc<ModelContext>) -> Result<CallRequest, CallError> {
        let lowered = self.codec.lower(&context.request).map_err(|error| {
            self.state = State::Over;
            CallError::Request(error)
        })?;
        let LoweredRequest { body, diagnostics, headers, .. } = lowered;
        let (number, wait) = (self.record.calls, std::mem::take(&mut self.record.wait));
        Ok(CallRequest { context, number, body, headers, wait, diagnostics })
    }

    /// Asks a model until it answers or nothing more can be tried: [`next`](Self::next) and
    /// [`answered`](Self::answered) in a loop.
    pub async fn run(&mut self, model: &dyn LanguageModel) -> Result<Answer, CallError> {
        while let Some(context) = self.prepared().await? {
            self.ask(model, &context, None).await?;
        }
        self.state.answer().cloned().ok_or_else(CallError::over)
    }

    /// Asks a model like [`run`](Self::run), and passes each delta of its answer to `show` as it
    /// arrives. An answer that breaks off is requested again, after
    /// [`Restarted`](AnswerDelta::Restarted), or accepted as incomplete: the
    /// [recovery](crate::RecoveryChain::broken_retries) decides.
    pub async fn run_streaming(
        &mut self,
        model: &dyn LanguageModel,
        show: &mut (dyn FnMut(AnswerDelta) + Send),
    ) -> Result<Answer, CallError> {
        while let Some(context) = self.prepared().await? {
            self.ask(model, &context, Some(&mut *show)).await?;
        }
        self.state.answer().cloned().ok_or_else(CallError::over)
    }

    /// Sends one prepared request to a model and takes its reply.
    pub(crate) async fn ask(
        &mut self,
        model: &dyn LanguageModel,
        context: &ModelContext,
        show: Option<&mut (dyn FnMut(AnswerDelta) + Send)>,
    ) -> Result<(), CallError> {
        let cancel = self.input.cancel.clone();
        let span = trace::call(self.chat(), self.provider(), self.model());
        let reply = match show {
            None => {
                let asking = model.complete(&context.request, &cancel).instrument(span.clone());
                unless_cancelled(&cancel, OPERATION, asking).await
            }
            Some(show) => {
                if self.restarted() {
                    show(AnswerDelta::Restarted);
                }
                let shown = &mut self.record.shown;
                let mut seen = |delta| {
                    *shown = true;
                    show(delta);
                };
                let asking = model.stream(&context.request, &cancel, &mut seen);
                let asking = asking.instrument(span.clone());
                unless_cancelled(&cancel, OPERATION, asking).await
            }
        };
        // The model may notice the cancellation first. Its error is replaced by that of the signal.
        match cancel.check(OPERATION).and(reply) {
            Ok(reply) => {
                if let Ok(Answer { usage: Some(usage), .. }) = &reply {
                    trace::record_usage(&span, usage);
                }
                self.answered(reply);
            }
            Err(error) => {
                self.state = State::Over;
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// The chat of this call.
    pub fn chat(&self) -> &ChatRef {
        &self.input.turn.chat
    }

    /// The model that is asked. Empty if none is named.
    pub fn model(&self) -> &str {
        self.input.request.model.as_deref().unwrap_or_default()
    }

    /// The provider whose wire form the requests have.
    pub fn provider(&self) -> &str {
        self.codec.name()
    }

    /// The answer, once there is one.
    pub fn answer(&self) -> Option<&Answer> {
        self.state.answer()
    }

    /// Returns the answer, if there is one.
    pub fn into_answer(self) -> Option<Answer> {
        self.state.into_answer()
    }

    /// The message that the answer adds to the history. `None` until there is one.
    pub fn message(&self) -> Option<&Message> {
        self.answer().map(|answer| &answer.message)
    }

    /// The number of requests handed out and summaries requested.
    pub fn calls(&self) -> u32 {
        self.record.calls
    }

    /// The number of times that a request was sent again unchanged.
    pub fn retries(&self) -> u32 {
        self.record.retries
    }

    /// The token usage of every reply of this call: the answer, summaries, and answers that were
    /// requested again.
    pub fn usage(&self) -> Usage {
        self.record.usage
    }

    /// The cost of [`usage`](Self::usage) in US dollars. `None` if nothing was reported, or if the
    /// price of a model is not known.
    pub fn cost_usd(&self) -> Option<f64> {
        match self.record.cost {
            CallCost::Usd(cost) => Some(cost),
            CallCost::Nothing | CallCost::Unknown => None,
        }
    }

    /// The input tokens that the provider should have read from its prompt cache and did not:
    /// entries that ended early, or a request that went to another cache. Differences below a tenth
    /// are taken for errors of the estimate. 0 for models whose [cache
    /// rules](crate::tokens::CacheRules) are not known.
    pub fn cache_lost(&self) -> u64 {
        self.record.cache_lost
    }

    /// The attempts to recover from refusals, oldest first.
    pub fn attempts(&self) -> &[Attempt] {
        &self.record.attempts
    }

    /// The cuts of this call, or `None` if nothing was cut. The origins are positions in the
    /// conversation of the input. Store them with the chat, so that the next call does not meet the
    /// same refusal.
    pub fn rewrite(&self) -> Option<&HistoryRewrite> {
        self.input.rewrite.as_ref()
    }

    /// The plans that were applied to the history for this call, oldest first.
    pub fn plans(&self) -> &[PlanReport] {
        &self.record.plans
    }

    /// The diagnostics of the runtime and the recovery, oldest first.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.record.diagnostics
    }

    /// The most tokens of answer that the provider lets this model write, if it reported that
    /// during the call.
    pub fn learned_max_output(&self) -> Option<u64> {
        self.record.lasting_output
    }
}

const OPERATION: &str = "model_call";

impl fmt::Debug for ModelCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelCall")
            .field("runtime", &self.runtime)
            .field("codec", &self.codec.name())
            .field("state", &self.state.name())
            .field("calls", &self.record.calls)
            .finish_non_exhaustive()
    }
}
