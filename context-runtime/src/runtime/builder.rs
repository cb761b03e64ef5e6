//! Composing a runtime.

use std::sync::Arc;
use std::time::Duration;

use context_core::model::TokenCounter;
use context_core::{Clock, MemoryProvider, Renderer, Store, UserId};
use context_tokens::{BudgetError, Calibrations, ModelTable};

use super::parts::Parts;
use super::recall;
use super::{
    DefaultContextRuntime, LiveMedia, Pipeline, RuntimeFault, RuntimeFaults, Stage,
    ToolResultLimits,
};
use crate::{RecoveryChain, SystemClock};

/// Composes a [`DefaultContextRuntime`]. Everything has a default: without policies nothing is cut,
/// without a memory nothing is recalled. Most agents say [`model`](Self::model),
/// [`compaction`](Self::compaction) and [`spill`](Self::spill), and leave the rest.
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
            recovery: None,
            memory: None,
            user: None,
            agent: None,
            recall_renderer: recall::default_renderer(),
            recall_timeout: Duration::from_secs(5),
            recall_tokens: 2_000,
            spill: None,
            tool_results: ToolResultLimits::default(),
            live_media: LiveMedia::default(),
            clock: Arc::new(SystemClock),
            environment: false,
            max_messages: None,
            max_sessions: 1_024,
            expected_calls: 10,
            cache_lifetime: Duration::from_secs(300),
            summary_cooldown: Duration::from_secs(60),
        };
        Self { parts, stages: Vec::new(), calibrations: Calibrations::default() }
    }
}

impl DefaultContextRuntimeBuilder {
    /// The model that is prepared for if an input names none. Its window, the room for its answer
    /// and its token counter come from the [table](Self::models); a model whose window is not known
    /// needs a [`window`](Self::window). Default: none; then every input should name one, or a
    /// window of 32,768 tokens is assumed and told.
    pub fn model(mut self, name: impl Into<String>) -> Self {
        self.parts.model = Some(name.into());
        self
    }

    /// What is known of models. Default: the built-in table. Give another for models that it does
    /// not know, or with your own prices.
    pub fn models(mut self, table: ModelTable) -> Self {
        self.parts.models = Arc::new(table);
        self
    }

    /// The window in tokens, whatever the table says. Default: the table's. Say it for a proxy or a
    /// local model with another limit, or to keep calls cheaper than they could be.
    pub fn window(mut self, tokens: u64) -> Self {
        self.parts.window = Some(tokens);
        self
    }

    /// How many tokens are kept for the answer, and asked for. Default: what the model writes at
    /// most, and no more than a quarter of the window. Less where answers are short: what is kept
    /// for them, the history cannot have.
    pub fn reserve(mut self, tokens: u64) -> Self {
        self.parts.reserve = Some(tokens);
        self
    }

    /// Counts tokens, for every model. Default: the counter of the model, by the table. Give one
    /// for a tokenizer that the table does not know.
    pub fn counter(mut self, counter: Arc<dyn TokenCounter>) -> Self {
        self.parts.counter = Some(counter);
        self
    }

    /// What was learned before about how far counts are off; see
    /// [`DefaultContextRuntime::calibrations`]. Default: nothing. Keep it where processes are short
    /// and counts are estimates.
    pub fn calibrations(mut self, calibrations: Calibrations) -> Self {
        self.calibrations = calibrations;
        self
    }

    /// What is done when the window fills up: stages from gentle to harsh, policies or [`Stage`]s,
    /// such as [`microcompact`](crate::compaction::microcompact). They come behind those that were
    /// given before. Default: nothing is cut, and what does not fit is refused by the provider.
    pub fn compaction(mut self, stages: impl IntoIterator<Item = impl Into<Stage>>) -> Self {
        self.stages.extend(stages.into_iter().map(Into::into));
        self
    }

    /// Who decides what to do when a model refuses a request. Default: the built-in policies, with
    /// every decision for a caller that [follows
    /// all](context_core::runtime::RecoveryInput::follows_all), as [`ModelCall`](crate::ModelCall)
    /// does, and the three of the [first contract](crate::Contract::Seed) for any other. Give a
    /// chain to add a policy of your own, or to try more or less often.
    pub fn recovery(mut self, chain: RecoveryChain) -> Self {
        self.parts.recovery = Some(chain);
        self
    }

    /// Remembers; an `Arc` of a provider does as well. Memories are those of the user whose turn it
    /// is. Default: nothing remembers.
    pub fn memory(mut self, memory: impl MemoryProvider) -> Self {
        self.parts.memory = Some(Arc::new(memory));
        self
    }

    /// Serves this user alone: a turn of another one is refused as
    /// [`Invalid`](crate::ErrorKind::Invalid), and nothing is written. Whose turn it is, each input
    /// says. Default: all users are served, each with what is theirs.
    pub fn user(mut self, user: impl Into<UserId>) -> Self {
        self.parts.user = Some(user.into());
        self
    }

    /// Which agent remembers. Default: none in particular. Name it where several agents of a user
    /// are not to share what they remember.
    pub fn agent(mut self, agent: impl Into<String>) -> Self {
        self.parts.agent = Some(agent.into());
        self
    }

    /// How what was recalled is shown to the model. Default: as XML. Give the renderer of your
    /// prompts.
    pub fn recall_renderer(mut self, renderer: Arc<dyn Renderer>) -> Self {
        self.parts.recall_renderer = Some(renderer);
        self
    }

    /// How long a call waits for memories; then it goes on without, and says so. Default: 5
    /// seconds. More for memories behind a slow network.
    pub fn recall_timeout(mut self, timeout: Duration) -> Self {
        self.parts.recall_timeout = timeout;
        self
    }

    /// How many tokens memories may have. Default: 2,000. Less for small windows.
    pub fn recall_tokens(mut self, tokens: u64) -> Self {
        self.parts.recall_tokens = tokens;
        self
    }

    /// Keeps results of tools and media that are too large in the blobs of a store, under the user
    /// and the chat of the turn; see [`Spill`](super::Spill). Default: nothing is kept elsewhere,
    /// and what is too large for the window is cut.
    pub fn spill(mut self, store: Arc<dyn Store>) -> Self {
        self.parts.spill = Some(store);
        self
    }

    /// From which size on results of tools are kept elsewhere. Default:
    /// [`ToolResultLimits::default`], 10,000 tokens for one and 40,000 for a message. Less for
    /// small windows.
    pub fn tool_results(mut self, limits: ToolResultLimits) -> Self {
        self.parts.tool_results = limits;
        self
    }

    /// Which media that are kept elsewhere the model is shown. Default: [`LiveMedia::default`].
    /// Fewer where pictures cost too much.
    pub fn live_media(mut self, live: LiveMedia) -> Self {
        self.parts.live_media = live;
        self
    }

    /// Tells the time. Default: the host's clock. Give a fixed one in tests.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.parts.clock = Arc::new(clock);
        self
    }

    /// Whether the system prompt says which day it is, on which platform and in which folder.
    /// Default: no. Yes for agents that work on files.
    pub fn environment(mut self, shown: bool) -> Self {
        self.parts.environment = shown;
        self
    }

    /// The most messages to send, unless an input says otherwise. Default: all. A window of tokens
    /// is the better limit; this one is for chats that should forget.
    pub fn max_messages(mut self, messages: usize) -> Self {
        self.parts.max_messages = Some(messages);
        self
    }

    /// Of how many chats something is remembered. Default: 1,024, the ones used lately. More where
    /// more are active at once: one that is forgotten is counted anew.
    pub fn max_sessions(mut self, sessions: usize) -> Self {
        self.parts.max_sessions = sessions;
        self
    }

    /// How many more calls a conversation is expected to have: within them a compaction must pay
    /// off that is not needed yet. Default: 10. Fewer for short chats, more for agents that call
    /// many tools.
    pub fn expected_calls(mut self, calls: u32) -> Self {
        self.parts.expected_calls = calls;
        self
    }

    /// How long the provider's prompt cache keeps what nobody asks for. Default: 5 minutes. As your
    /// provider says.
    pub fn cache_lifetime(mut self, lifetime: Duration) -> Self {
        self.parts.cache_lifetime = lifetime;
        self
    }

    /// How long no summary is asked for after one failed. Default: a minute. Longer where asking is
    /// expensive.
    pub fn summary_cooldown(mut self, pause: Duration) -> Self {
        self.parts.summary_cooldown = pause;
        self
    }

    /// The runtime, or everything that keeps it from working.
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
        ];
        let empty = names.into_iter().filter(|(_, is_empty)| *is_empty);
        faults.extend(empty.map(|(what, _)| RuntimeFault::Empty { what }));
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
        faults.extend(zeros.map(|(what, _)| RuntimeFault::Zero { what }));
        if let Some(store) = &parts.spill
            && store.blobs().is_none()
        {
            faults.push(RuntimeFault::NoBlobs { store: store.info().name });
        }
        if parts.memory.is_some() {
            faults.extend(parts.recall_renderer.is_none().then_some(RuntimeFault::NoRenderer));
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
