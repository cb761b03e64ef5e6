//! One call of a model, driven to its end: prepared, sent by the caller, and tried again in another
//! form where the provider refuses it.
//!
//! A [`ModelCall`] asks a [`ContextRuntime`] what to send and what to do about errors, and carries
//! the decisions out: it cuts, strips, asks for summaries, waits. It holds no connection. The
//! history that it is given stays the caller's: what was cut is told ([`ModelCall::compacted`]),
//! for a store to keep, and nothing is lost if the call fails or is cancelled.
//!
//! It ends: every request and every summary counts, and there are at most
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

/// One call of a model, until it is answered or given up.
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
    /// What every request is prepared from; the messages are those of `history`.
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

/// What happened so far.
#[derive(Debug, Default)]
struct Record {
    calls: u32,
    /// Retries of the same request, waits included.
    retries: u32,
    attempts: Vec<Attempt>,
    /// What was decided and carried out, but not prepared yet; with the tokens of the history
    /// before.
    open: Option<(context_core::history::RecoveryDecision, u64)>,
    /// How many tokens the history had that the runtime is asked to compact.
    uncompacted: Option<u64>,
    plans: Vec<PlanReport>,
    diagnostics: Vec<Diagnostic>,
    summarised: bool,
    output_grown: bool,
    lasting_output: Option<u64>,
    /// Of the newest request.
    sent: Option<Sent>,
    last_error: Option<ModelError>,
}

/// What is remembered of a request that was handed out.
#[derive(Clone, Copy, Debug)]
struct Sent {
    tokens: u64,
    /// How many of them are not the history's.
    outside: u64,
    max_output: Option<u64>,
    /// What it was prepared for.
    window: Option<u64>,
}

/// A request to send.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CallRequest {
    /// What was prepared, and what should be known of it.
    pub context: ModelContext,
    /// The request in a form that belongs to no provider.
    pub request: ModelRequest,
    /// Which call this is, counted from 1; summaries count.
    pub number: u32,
    body: Json,
    /// What the codec repaired, and what the provider's form cannot hold.
    pub diagnostics: Vec<Diagnostic>,
}

impl CallRequest {
    /// The body to send.
    pub fn body(&self) -> &Json {
        &self.body
    }
}

impl<'r> ModelCall<'r> {
    /// A call prepared by this runtime and written by this codec. `input` is what the call is
    /// about, most often [`Resolved::prepare`](crate::Resolved::prepare). Its messages do not
    /// count: they are given to [`next`](Self::next). An input that names no provider is for that
    /// of the codec, one that names no model for the runtime's.
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

    /// With these limits. Default: [`CallOptions::default`], eight requests and three retries.
    /// Fewer where somebody waits, more where nobody does.
    pub fn options(mut self, options: CallOptions) -> Self {
        self.options = options;
        self
    }

    /// Asks this model for summaries where the runtime wants one. Default: none is asked for, and
    /// what the runtime prepares without is sent. Needed with a stage of `summarize`; a small and
    /// cheap model will do.
    pub fn summaries(mut self, model: Arc<dyn LanguageModel>) -> Self {
        self.summaries = Some(model);
        self
    }

    /// Carries out with this what the runtime decides. Default: the built-in policies. The same
    /// chain as the runtime's, if that has policies of its own.
    pub fn recovery(mut self, chain: RecoveryChain) -> Self {
        self.chain = chain;
        self
    }

    /// Counts the history where it is cut. Default: the counter of the model. The same counter as
    /// the runtime's, if that has one of its own.
    pub fn counter(mut self, counter: Arc<dyn TokenCounter>) -> Self {
        self.counter = counter;
        self
    }

    /// The next request to send; nothing once the call is answered. The history is the conversation
    /// as it is now, such as what a chat [resolved](crate::Resolved): what was added since the last
    /// time is part of the request, and what was cut stays cut. Waits where the provider wants to
    /// be left alone.
    ///
    /// A request that was handed out and not [answered](Self::answered) is taken for lost and
    /// prepared again. A history that says it is of [another chat](Conversation::chat) is
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

    /// Asks a model until it answers or nothing helps: [`next`](Self::next) and
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
            // A model that notices the signal first says so with an error of its own.
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

    /// The chat it is a call of.
    pub fn chat(&self) -> &ChatRef {
        &self.input.chat
    }

    /// Refuses the history of another chat. The error does not name it: its user may be another
    /// one.
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

    /// The answer, if there is one.
    pub fn into_answer(self) -> Option<Answer> {
        self.state.into_answer()
    }

    /// What the answer adds to the history; nothing until there is one.
    pub fn message(&self) -> Option<&Message> {
        self.answer().map(|answer| &answer.message)
    }

    /// How many requests were handed out and summaries asked for.
    pub fn calls(&self) -> u32 {
        self.record.calls
    }

    /// What was tried about refusals, oldest first.
    pub fn attempts(&self) -> &[Attempt] {
        &self.record.attempts
    }

    /// What is left of the history after everything that was cut for this call; nothing if nothing
    /// was. The origins are positions in the history as it was given last. Keep it with the chat,
    /// so that the next call does not meet the same refusal.
    pub fn compacted(&self) -> Option<&Compacted> {
        self.history.compacted()
    }

    /// The plans that were applied to the history for this call, oldest first.
    pub fn plans(&self) -> &[PlanReport] {
        &self.record.plans
    }

    /// What the runtime and the recovery said, oldest first.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.record.diagnostics
    }

    /// The most tokens of answer that the provider lets this model write, if it said so on the way.
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
