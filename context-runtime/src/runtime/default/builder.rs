//! The builder of a runtime.

use std::sync::Arc;
use std::time::Duration;

use context_core::model::TokenCounter;
use context_core::{Clock, MemoryProvider, Renderer, Store, UserId};
use context_tokens::{BudgetError, Calibrations, ModelTable};

use super::parts::Parts;
use super::{
    CacheKey, DefaultContextRuntime, LiveMedia, ProviderClearing, RecallPlace, RuntimeFault,
    RuntimeFaults, ToolResultLimits,
};
use crate::observer::{Observer, Observers};
use crate::runtime::{Pipeline, Stage, USER_WORDS};
use crate::{RecoveryChain, SystemClock};

/// The largest share of the history for the user's words: policies need the rest.
const MOST_USER_WORDS: f64 = 0.5;

/// Builds a [`DefaultContextRuntime`]. Everything has a default: without policies nothing is cut,
/// without memory nothing is recalled. Most agents set [`model`](Self::model),
/// [`compaction`](Self::compaction) and [`spill`](Self::spill), and keep the other defaults.
#[derive(Clone, Debug)]
#[must_use]
pub struct DefaultContextRuntimeBuilder {
    parts: Parts,
    stages: Vec<Stage>,
    calibrations: Calibrations,
}

impl Default for DefaultContextRuntimeBuilder {
    fn default() -> Self {
        let parts = Parts {
            models: Arc::new(ModelTable::builtin().clone()),
            model: None,
            window: None,
            reserve: None,
            counter: None,
            pipeline: Pipeline::default(),
            clearing: None,
            recovery: None,
            memory: None,
            user: None,
            agent: None,
            recall_renderer: Arc::new(context_render::XmlRenderer::default()),
            recall_place: RecallPlace::default(),
            recall_timeout: Duration::from_secs(5),
            recall_tokens: 2_000,
            expects_recall: false,
            spill: None,
            tool_results: ToolResultLimits::default(),
            live_media: LiveMedia::default(),
            observers: Observers::default(),
            clock: Arc::new(SystemClock),
            environment: false,
            max_messages: None,
            max_sessions: 1_024,
            expected_calls: 10,
            user_words: USER_WORDS,
            cache_key: CacheKey::default(),
            cache_lifetime: None,
            summary_cooldown: Duration::from_secs(60),
        };
        Self { parts, stages: Vec::new(), calibrations: Calibrations::default() }
    }
}

impl DefaultContextRuntimeBuilder {
    /// Sets the model for inputs that name none. Its window, the room for its answer and its token
    /// counter come from the [table](Self::models). A model with an unknown window needs
    /// [`window`](Self::window). Default: none. Then every input should name a model; otherwise a
    /// window of 32,768 tokens is assumed, with a diagnostic.
    pub fn model(mut self, name: impl Into<String>) -> Self {
        self.parts.model = Some(name.into());
        self
    }

    /// Sets the table of models. Default: the built-in table. Pass another one for models that it
    /// does not have, or with your own prices.
    pub fn models(mut self, table: ModelTable) -> Self {
        self.parts.models = Arc::new(table);
        self
    }

    /// Sets the window in tokens, overriding the table. Default: the table's. Set it for a proxy or
    /// a local model with another limit, or to limit the cost of calls.
    pub fn window(mut self, tokens: u64) -> Self {
        self.parts.window = Some(tokens);
        self
    }

    /// Sets how many tokens are reserved for the answer, and requested as its maximum. Default: the
    /// most the model writes, but at most a quarter of the window. Reserve less where answers are
    /// short: the reserve is not available to the history.
    pub fn reserve(mut self, tokens: u64) -> Self {
        self.parts.reserve = Some(tokens);
        self
    }

    /// Sets the token counter for every model. Default: the model's counter, by the table. Set it
    /// for a tokenizer that the table does not know.
    pub fn counter(mut self, counter: Arc<dyn TokenCounter>) -> Self {
        self.parts.counter = Some(counter);
        self
    }

    /// Sets what was learned earlier about counting errors. See
    /// [`DefaultContextRuntime::calibrations`]. Default: nothing. Store and restore it where
    /// processes are short-lived and counts are estimates.
    pub fn calibrations(mut self, calibrations: Calibrations) -> Self {
        self.calibrations = calibrations;
        self
    }

    /// Adds stages to run when the window fills up, from least to most lossy: policies or
    /// [`Stage`]s, such as [`microcompact`](crate::compaction::microcompact). They follow the
    /// stages that were added before. Default: nothing is cut, and the provider refuses what does
    /// not fit.
    pub fn compaction(mut self, stages: impl IntoIterator<Item = impl Into<Stage>>) -> Self {
        self.stages.extend(stages.into_iter().map(Into::into));
        self
    }

    /// Lets the provider clear old results of tools, where it offers that. Default: no. The stages
    /// run when the request without what is cleared fills the window.
    pub fn provider_clearing(mut self, clearing: ProviderClearing) -> Self {
        self.parts.clearing = Some(clearing);
        self
    }

    /// Sets the recovery chain, which decides what to do when a model refuses a request. Default:
    /// the built-in policies. Callers that [support all
    /// decisions](context_core::runtime::RecoveryInput::supports_all_decisions), as
    /// [`ModelCall`](crate::ModelCall) does, get every decision; other callers get the [basic
    /// ones](crate::DecisionSet::Basic). Set a chain to add a policy of your own, or to change the
    /// number of tries.
    pub fn recovery(mut self, chain: RecoveryChain) -> Self {
        self.parts.recovery = Some(chain);
        self
    }

    /// Sets the memory provider; an `Arc` of a provider is accepted too. Memories belong to the
    /// user of the turn. Default: no memory. A recall that is configured without a memory, and a
    /// turn that is captured without one, are reported as
    /// [`MemoryDisabled`](crate::DiagnosticCode::MemoryDisabled).
    pub fn memory(mut self, memory: impl MemoryProvider) -> Self {
        self.parts.memory = Some(Arc::new(memory));
        self
    }

    /// Restricts the runtime to one user. A turn of another user is refused as
    /// [`Invalid`](crate::ErrorKind::Invalid), and nothing is written. Each input names its user.
    /// Default: all users are served, each with their own data.
    pub fn user(mut self, user: impl Into<UserId>) -> Self {
        self.parts.user = Some(user.into());
        self
    }

    /// Sets the agent of the memory scope. Default: none. Name the agent where several agents of a
    /// user should not share memories.
    pub fn agent(mut self, agent: impl Into<String>) -> Self {
        self.parts.agent = Some(agent.into());
        self
    }

    /// Sets the renderer of recalled memories. Default: XML. Use the renderer of your prompts.
    pub fn recall_renderer(mut self, renderer: Arc<dyn Renderer>) -> Self {
        self.parts.recall_renderer = renderer;
        self
    }

    /// Sets the place of recalled memories in a request. Default: [`RecallPlace::InRequest`], which
    /// keeps the roles alternating. [`RecallPlace`] says what each place costs of the prompt cache.
    pub fn recall_place(mut self, place: RecallPlace) -> Self {
        (self.parts.recall_place, self.parts.expects_recall) = (place, true);
        self
    }

    /// Sets how long a call waits for memories. After that the call continues without them, with a
    /// diagnostic. Default: 5 seconds. Use more for memories behind a slow network.
    pub fn recall_timeout(mut self, timeout: Duration) -> Self {
        (self.parts.recall_timeout, self.parts.expects_recall) = (timeout, true);
        self
    }

    /// Sets the maximum number of tokens of recalled memories. Default: 2,000. Use less for small
    /// windows.
    pub fn recall_tokens(mut self, tokens: u64) -> Self {
        (self.parts.recall_tokens, self.parts.expects_recall) = (tokens, true);
        self
    }

    /// Stores tool results and media that are too large as blobs of a store, under the user and the
    /// chat of the turn. See [`Spill`](super::Spill). Default: nothing is stored, and what is too
    /// large for the window is cut.
    pub fn spill(mut self, store: Arc<dyn Store>) -> Self {
        self.parts.spill = Some(store);
        self
    }

    /// Sets the size limits above which tool results are stored as blobs. Default:
    /// [`ToolResultLimits::default`], 10,000 tokens for one result and 40,000 for a message. Use
    /// less for small windows.
    pub fn tool_results(mut self, limits: ToolResultLimits) -> Self {
        self.parts.tool_results = limits;
        self
    }

    /// Sets which of the media stored as blobs the model is shown. Default: [`LiveMedia::default`].
    /// Show fewer where images cost too much.
    pub fn live_media(mut self, live: LiveMedia) -> Self {
        self.parts.live_media = live;
        self
    }

    /// Adds an observer, which is told of compactions, recoveries, spilled outputs, recalls and
    /// captures, and asked before each compaction. It is not told of calls of models unless the
    /// [`ModelCall`](crate::ModelCall) has it too. Default: none.
    pub fn observer(mut self, observer: impl Observer) -> Self {
        self.parts.observers.add(observer);
        self
    }

    /// Sets the clock. Default: the host's clock. Use a fixed one in tests.
    pub fn clock(self, clock: impl Clock) -> Self {
        self.shared_clock(Arc::new(clock))
    }

    /// Sets a clock that other parts use too.
    pub fn shared_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.parts.clock = clock;
        self
    }

    /// Sets whether the system prompt names the date, the platform and the working folder. Default:
    /// no. Turn it on for agents that work on files. Permissions and additional working directories
    /// are named in any case where an input sets them, unless it has a custom system prompt.
    pub fn environment(mut self, shown: bool) -> Self {
        self.parts.environment = shown;
        self
    }

    /// Sets the maximum number of messages to send, unless an input sets its own. Default: no
    /// limit. A token window is the better limit; this one is for chats that should forget.
    pub fn max_messages(mut self, messages: usize) -> Self {
        self.parts.max_messages = Some(messages);
        self
    }

    /// Sets how many chats have a session, most recently used first. Default: 1,024. Use more if
    /// more chats are active at once: a chat without a session is counted anew.
    pub fn max_sessions(mut self, sessions: usize) -> Self {
        self.parts.max_sessions = sessions;
        self
    }

    /// Sets how many more calls a conversation is expected to have. A compaction that is not needed
    /// yet must pay off within them. Default: 10. Use fewer for short chats, and more for agents
    /// that call many tools.
    pub fn expected_calls(mut self, calls: u32) -> Self {
        self.parts.expected_calls = calls;
        self
    }

    /// Sets which share of the room for the history the user's own requests fill unchanged,
    /// whatever a policy cuts: the first request, then the newest ones. Default:
    /// [`USER_WORDS`](crate::compaction::USER_WORDS), a tenth; at most 0.5.
    /// With 0 only the first and the newest request are kept, and may be shortened. Messages that
    /// must never go are [pinned](crate::Message::pinned).
    pub fn user_words(mut self, share: f64) -> Self {
        self.parts.user_words = share;
        self
    }

    /// Sets the key of the provider's prompt cache, for providers that take one. Default:
    /// [`CacheKey::Chat`], a key for each chat. A request with a
    /// [key of its own](context_core::ModelRequest::cache_key) keeps it.
    pub fn cache_key(mut self, key: CacheKey) -> Self {
        self.parts.cache_key = key;
        self
    }

    /// Sets how long an entry of the provider's prompt cache lives after its last use. Requests ask
    /// for the provider's shortest lifetime that is at least as long, or else for its longest.
    /// Where the provider of a model offers no choice, nothing is asked for, and entries live as
    /// long as the table of [`models`](Self::models) says, or this long if it says nothing. A
    /// request with a [lifetime of its own](context_core::ModelRequest::cache_lifetime) comes
    /// first.
    ///
    /// A lifetime that is named is a parameter of the request (`prompt_cache_retention` at OpenAI),
    /// which other endpoints for the same model, or the settings of an organisation, may refuse.
    ///
    /// Default: of the lifetimes that the table has for the model, if they differ in price, the one
    /// with which the last calls of the chat, up to 64, would have cost the least. It is the
    /// provider's usual one until a pause was longer. If they do not differ, as at OpenAI, none is
    /// asked for, and the time until which a request [is cached](crate::Prefix::cached_until) is
    /// not stated where it is a setting of the organisation. 5 minutes are assumed if the table has
    /// none.
    pub fn cache_lifetime(mut self, lifetime: Duration) -> Self {
        self.parts.cache_lifetime = Some(lifetime);
        self
    }

    /// Sets how long no summary is requested after one failed. Default: one minute. Use more where
    /// requests are expensive.
    pub fn summary_cooldown(mut self, pause: Duration) -> Self {
        self.parts.summary_cooldown = pause;
        self
    }

    /// Builds the runtime, or returns every fault of its configuration.
    pub fn build(self) -> Result<DefaultContextRuntime, RuntimeFaults> {
        let mut parts = self.parts;
        let mut faults = Vec::new();
        let model = parts.models.model(parts.model.as_deref().unwrap_or_default());
        if let Err(BudgetError::NoRoom { window, reserve }) =
            model.budget(parts.window, parts.reserve)
            && window > 0
        {
            faults.push(RuntimeFault::Window { window, reserve });
        }
        let name = parts.model.as_deref();
        let blank = |name: Option<&str>| name.is_some_and(|name| name.trim().is_empty());
        let user = parts.user.as_ref().map(UserId::as_str);
        let names = [
            ("model", blank(name)),
            ("user", blank(user)),
            ("agent", blank(parts.agent.as_deref())),
            ("cache_key", matches!(&parts.cache_key, CacheKey::Shared(key) if key.is_empty())),
        ];
        let empty = names.into_iter().filter(|(_, is_empty)| *is_empty);
        faults.extend(empty.map(|(setting, _)| RuntimeFault::Empty { setting }));
        let unknown =
            |name: &&str| parts.window.is_none() && parts.models.model(name).window().is_none();
        if let Some(model) = name.filter(|name| !name.trim().is_empty()).filter(unknown) {
            faults.push(RuntimeFault::UnknownModel { model: model.to_owned() });
        }
        let numbers = [
            ("window", parts.window == Some(0)),
            ("reserve", parts.reserve == Some(0)),
            ("max_messages", parts.max_messages == Some(0)),
            ("max_sessions", parts.max_sessions == 0),
            ("expected_calls", parts.expected_calls == 0),
            ("recall_timeout", parts.recall_timeout.is_zero()),
            ("recall_tokens", parts.recall_tokens == 0),
        ];
        let zeros = numbers.into_iter().filter(|(_, is_zero)| *is_zero);
        faults.extend(zeros.map(|(setting, _)| RuntimeFault::Zero { setting }));
        if !(0.0..=MOST_USER_WORDS).contains(&parts.user_words) {
            let (setting, share, most) = ("user_words", parts.user_words, MOST_USER_WORDS);
            faults.push(RuntimeFault::Share { setting, share, most });
        }
        if let Some(store) = &parts.spill
            && store.blobs().is_none()
        {
            faults.push(RuntimeFault::NoBlobs { store: store.info().name });
        }
        match Pipeline::new(self.stages) {
            Ok(pipeline) => parts.pipeline = pipeline,
            Err(stages) => faults.extend(stages.0.into_iter().map(RuntimeFault::from)),
        }
        if !faults.is_empty() {
            return Err(RuntimeFaults(faults));
        }
        Ok(DefaultContextRuntime::new(parts, self.calibrations))
    }
}
