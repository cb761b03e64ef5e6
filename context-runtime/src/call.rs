//! The driver of one model call: it prepares a request, leaves the sending to the caller, and tries
//! again in another form if the provider refuses.
//!
//! A [`ModelCall`] asks a [`ContextRuntime`] what to send and what to do about errors, and carries
//! the decisions out: it cuts, strips, requests summaries and waits. It holds no connection. The
//! given history stays the caller's. Cuts are reported ([`ModelCall::compacted`]), so that a store
//! can keep them, and nothing is lost if the call fails or is cancelled.
//!
//! A call terminates: every request and every summary counts, and there are at most
//! [`CallOptions::max_calls`].

mod accept;
mod conversation;
mod cut;
mod error;
mod history;
mod options;
mod prepare;
mod recover;
mod reply;

use std::fmt;
use std::sync::Arc;

use context_core::history::{Attempt, Compacted, PlanReport};
use context_core::model::{LanguageModel, ModelCodec, TokenCounter};
use context_core::runtime::{ModelContext, PrepareInput};
use context_core::{
    Answer, ChatRef, ContextRuntime, Diagnostic, Error, Json, Message, ModelError, ModelRequest,
};
use context_tokens::{CachedCounter, ModelTable};
pub use conversation::Conversation;
pub use error::{CallError, Refusal};
use history::Working;
pub use options::CallOptions;
use reply::State;

use crate::waiting::unless_cancelled;
use crate::{Contract, RecoveryChain};

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
/// while let Some(request) = call.next(&turn).await? {
///     let (status, body) = send(request.body().as_str()).await; // the program's own HTTP client
///     call.received(status, &body); // an overflow, a refused image, a busy provider: decided here
/// }
/// let answer = chat.accept(&turn, &call).await?; // what was cut, and what was answered, goes with the next save
/// assert_eq!(answer.message.plain_text(), "Aisle?");
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is prepared until it is asked for"]
pub struct ModelCall<'r> {
    runtime: &'r dyn ContextRuntime,
    codec: Arc<dyn ModelCodec>,
    /// The input of every request. Its messages are those of `history`.
    input: PrepareInput,
    options: CallOptions,
    counter: Arc<dyn TokenCounter>,
    chain: RecoveryChain,
    summaries: Option<Arc<dyn LanguageModel>>,
    /// The most tokens the model writes, if the table knows.
    max_output: Option<u64>,
    history: Working,
    state: State,
    record: Record,
}

/// The record of the call so far.
#[derive(Debug, Default)]
struct Record {
    calls: u32,
    /// Retries of the same request, waits included.
    retries: u32,
    attempts: Vec<Attempt>,
    /// A decision that was carried out but not prepared yet, with the tokens of the history before.
    open: Option<(context_core::history::RecoveryDecision, u64)>,
    /// The tokens of the history before the compaction that the runtime is asked for.
    uncompacted: Option<u64>,
    plans: Vec<PlanReport>,
    diagnostics: Vec<Diagnostic>,
    summarised: bool,
    output_grown: bool,
    lasting_output: Option<u64>,
    /// Describes the newest request.
    sent: Option<Sent>,
    last_error: Option<ModelError>,
}

/// The numbers of a request that was handed out.
#[derive(Clone, Copy, Debug)]
struct Sent {
    tokens: u64,
    /// The part of these tokens that is outside the history.
    outside: u64,
    max_output: Option<u64>,
    /// The window it was prepared for.
    window: Option<u64>,
}

/// A request to send.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CallRequest {
    /// The prepared context, with its diagnostics.
    pub context: ModelContext,
    /// The request in canonical form.
    pub request: ModelRequest,
    /// The number of this call, counted from 1. Summaries count.
    pub number: u32,
    body: Json,
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
    /// Creates a call that this runtime prepares and this codec lowers. `input` describes the call,
    /// usually [`Resolved::prepare`](crate::Resolved::prepare). Its messages are ignored; the
    /// history is passed to [`next`](Self::next). An input without a provider gets the codec's, and
    /// one without a model gets the runtime's.
    pub fn new(
        runtime: &'r dyn ContextRuntime,
        codec: Arc<dyn ModelCodec>,
        mut input: PrepareInput,
    ) -> Self {
        input.messages.clear();
        if input.provider.is_empty() {
            input.provider = codec.name().to_owned();
        }
        if let (true, Some(model)) = (input.model.is_empty(), runtime.default_model()) {
            input.model = model.to_owned();
        }
        let model = ModelTable::builtin().model(&input.model);
        let counter = CachedCounter::new(Arc::new(model.counter()));
        let max_output = model.max_output();
        Self {
            runtime,
            codec,
            input,
            options: CallOptions::default(),
            counter: Arc::new(counter),
            chain: RecoveryChain::new(Contract::Extended),
            summaries: None,
            max_output,
            history: Working::default(),
            state: State::Ready,
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
    /// `summarize`. A small and cheap model is enough.
    pub fn summaries(mut self, model: Arc<dyn LanguageModel>) -> Self {
        self.summaries = Some(model);
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

    /// Returns the next request to send, or `None` once the call is answered. `history` is the
    /// conversation as it is now, such as what a chat [resolved](crate::Resolved). Messages that
    /// were added since the last time are part of the request, and earlier cuts stay applied. Waits
    /// if the provider asked for a pause.
    ///
    /// A request that was handed out and not [answered](Self::answered) is considered lost and
    /// prepared again. A history of [another chat](Conversation::chat) is refused as
    /// [`Invalid`](context_core::ErrorKind::Invalid), and nothing is prepared.
    pub async fn next(
        &mut self,
        history: &(impl Conversation + ?Sized),
    ) -> Result<Option<CallRequest>, CallError> {
        self.check_chat(history)?;
        match self.prepared(&history.messages()).await? {
            Some((context, request)) => {
                let lowered = self.codec.lower(&request).map_err(|error| {
                    self.state = State::Over;
                    CallError::Request(error)
                })?;
                Ok(Some(CallRequest {
                    context,
                    request,
                    number: self.record.calls,
                    body: lowered.body,
                    diagnostics: lowered.diagnostics,
                }))
            }
            None => Ok(None),
        }
    }

    /// Asks a model until it answers or nothing more can be tried: [`next`](Self::next) and
    /// [`answered`](Self::answered) in a loop.
    pub async fn run(
        &mut self,
        model: &dyn LanguageModel,
        history: &(impl Conversation + ?Sized),
    ) -> Result<Answer, CallError> {
        self.check_chat(history)?;
        let cancel = self.input.cancel.clone();
        let history = history.messages();
        while let Some((_, request)) = self.prepared(&history).await? {
            let asking = model.complete(&request, &cancel);
            let reply = unless_cancelled(&cancel, OPERATION, asking).await;
            // The model may notice the cancellation first. Its error is replaced by that of the
            // signal.
            match cancel.check(OPERATION).and(reply) {
                Ok(reply) => self.answered(reply),
                Err(error) => {
                    self.state = State::Over;
                    return Err(error.into());
                }
            }
        }
        self.state.answer().cloned().ok_or_else(CallError::over)
    }

    /// The chat of this call.
    pub fn chat(&self) -> &ChatRef {
        &self.input.chat
    }

    /// Refuses the history of another chat. The error does not name the other chat, because its
    /// user may be another one.
    fn check_chat(&self, history: &(impl Conversation + ?Sized)) -> Result<(), CallError> {
        if history.chat().is_none_or(|chat| *chat == self.input.chat) {
            return Ok(());
        }
        let error = Error::invalid(OPERATION, "the history is of another chat than the call");
        Err(error.with("chat", &self.input.chat.chat).into())
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

    /// The attempts to recover from refusals, oldest first.
    pub fn attempts(&self) -> &[Attempt] {
        &self.record.attempts
    }

    /// The history after all cuts of this call, or `None` if nothing was cut. The origins are
    /// positions in the history as it was last passed. Store it with the chat, so that the next
    /// call does not meet the same refusal.
    pub fn compacted(&self) -> Option<&Compacted> {
        self.history.compacted()
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
