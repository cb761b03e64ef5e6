//! The builder of agents.

use std::sync::Arc;
use std::time::Duration;

use context_core::model::{LanguageModel, ModelCodec};
use context_core::store::Durability;
use context_core::{Clock, ErrorKind, IdGenerator, MemoryProvider, Renderer, Store};
use context_trajectory::Trajectories;
use context_trajectory::portraits::Portraits;

use super::{Agents, Client, Parts, TurnLimits};
use crate::compaction::default_stages;
use crate::observer::Observer;
use crate::runtime::Stage;
use crate::{
    BackgroundSummaries, CallOptions, DefaultContextRuntime, DefaultContextRuntimeBuilder,
    RecoveryChain, RuntimeFault, RuntimeFaults, SystemClock, Uuid7Ids, provider,
};

/// Builds [`Agents`]. Only the model has no default.
///
/// | | default |
/// |---|---|
/// | compaction | [`default_stages`], with summaries if there is a model to ask |
/// | large tool results | stored in the store, if it keeps blobs |
/// | history tools | not offered |
/// | recording | into the store, if it keeps trajectories |
/// | memory, portraits | none |
/// | client | that of the model's vendor, from the environment (feature `model-http`) |
#[derive(Clone)]
#[must_use]
pub struct AgentsBuilder {
    store: Arc<dyn Store>,
    runtime: DefaultContextRuntimeBuilder,
    stages: Option<Vec<Stage>>,
    model: Option<String>,
    codec: Option<Arc<dyn ModelCodec>>,
    client: Option<Arc<dyn LanguageModel>>,
    summaries: Option<Arc<dyn LanguageModel>>,
    ahead: bool,
    recovery: Option<RecoveryChain>,
    calls: CallOptions,
    limits: TurnLimits,
    history_tools: bool,
    freeze_prompt: bool,
    durability: Option<Durability>,
    record: bool,
    portraits: Option<Portraits>,
    portrait_limit: Duration,
    renderer: Arc<dyn Renderer>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdGenerator>,
}

impl AgentsBuilder {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            runtime: DefaultContextRuntime::builder(),
            stages: None,
            model: None,
            codec: None,
            client: None,
            summaries: None,
            ahead: true,
            recovery: None,
            calls: CallOptions::default(),
            limits: TurnLimits::default(),
            history_tools: false,
            freeze_prompt: false,
            durability: None,
            record: true,
            portraits: None,
            portrait_limit: Duration::from_secs(10),
            renderer: Arc::new(context_render::XmlRenderer::default()),
            clock: Arc::new(SystemClock),
            ids: Arc::new(Uuid7Ids),
        }
    }

    /// Sets the model. Required, unless a [client](Self::client) names it. Its window, the room for
    /// its answer, its prices and its token counter come from the table of models.
    pub fn model(mut self, name: impl Into<String>) -> Self {
        self.model = Some(name.into());
        self
    }

    /// Sets the wire form. Default: that of the model's vendor, and Chat Completions for a model
    /// whose vendor is not known by its name.
    pub fn provider(mut self, codec: Arc<dyn ModelCodec>) -> Self {
        self.codec = Some(codec);
        self
    }

    /// Sets the model that answers [`AgentChat::ask`](crate::AgentChat::ask). It should not retry
    /// by itself: the turn does. Default: the client of the model's vendor, with the key that its
    /// environment variable holds, if the feature `model-http` is on.
    pub fn client(mut self, model: Arc<dyn LanguageModel>) -> Self {
        self.client = Some(model);
        self
    }

    /// Sets the model that writes summaries. Default: the model that answers.
    pub fn summaries(mut self, model: Arc<dyn LanguageModel>) -> Self {
        self.summaries = Some(model);
        self
    }

    /// Sets whether the system prompt of each chat is
    /// [frozen](crate::ContextEngineBuilder::freeze_prompt), so that the provider's prompt cache
    /// stays valid while fragments change. Default: no.
    pub fn freeze_prompt(mut self, freeze: bool) -> Self {
        self.freeze_prompt = freeze;
        self
    }

    /// Sets the [durability](crate::ContextEngineBuilder::durability) that each commit of a chat
    /// asks for. Default: as the store is configured. Rounds of trajectories are as durable as the
    /// store is configured.
    pub fn durability(mut self, durability: impl Into<Option<Durability>>) -> Self {
        self.durability = durability.into();
        self
    }

    /// Sets whether summaries are written [before they are
    /// needed](crate::compaction::Stage::ahead), while the conversation goes on. The next turn
    /// takes a summary over when it is ready. Default: yes. Otherwise a turn waits for its summary.
    pub fn summaries_ahead(mut self, ahead: bool) -> Self {
        self.ahead = ahead;
        self
    }

    /// Sets the compaction stages, from least to most lossy, instead of the default ones.
    pub fn compaction(mut self, stages: impl IntoIterator<Item = impl Into<Stage>>) -> Self {
        self.stages = Some(stages.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the recovery chain, which decides about refusals and broken answers. Default: the
    /// built-in policies.
    pub fn recovery(mut self, chain: RecoveryChain) -> Self {
        self.recovery = Some(chain);
        self
    }

    /// Sets the memory: what was said is recalled in later chats of the same user. Default: none.
    pub fn memory(mut self, memory: impl MemoryProvider) -> Self {
        self.runtime = self.runtime.memory(memory);
        self
    }

    /// Adds an observer of every turn: its calls, tools, cuts, recoveries, spilled outputs, recalls
    /// and captures. It is asked before each compaction. Default: none.
    pub fn observer(mut self, observer: impl Observer) -> Self {
        self.runtime = self.runtime.observer(observer);
        self
    }

    /// Changes further settings of the runtime, such as its window or its limits of tool results.
    pub fn runtime(
        mut self,
        change: impl FnOnce(DefaultContextRuntimeBuilder) -> DefaultContextRuntimeBuilder,
    ) -> Self {
        self.runtime = change(self.runtime);
        self
    }

    /// Sets whether turns are recorded as trajectories. Default: yes, if the store keeps them.
    pub fn record(mut self, record: bool) -> Self {
        self.record = record;
        self
    }

    /// Sets who describes recorded data, and how long the end of a turn waits for descriptions.
    /// Descriptions that take longer are written later. Default: none.
    pub fn portraits(mut self, portraits: Portraits, limit: Duration) -> Self {
        (self.portraits, self.portrait_limit) = (Some(portraits), limit);
        self
    }

    /// Sets the limits of every turn. A turn can have its own.
    pub fn limits(mut self, limits: TurnLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets whether every turn offers [`HistoryTools`](crate::HistoryTools) to the model. A turn
    /// can decide for itself. Default: no.
    pub fn history_tools(mut self, offered: bool) -> Self {
        self.history_tools = offered;
        self
    }

    /// Sets the limits of every call of a model: retries and waits.
    pub fn calls(mut self, options: CallOptions) -> Self {
        self.calls = options;
        self
    }

    /// Sets the renderer of system prompts and recalled memories. Default: XML.
    pub fn renderer(mut self, renderer: Arc<dyn Renderer>) -> Self {
        self.renderer = renderer;
        self
    }

    /// Sets the clock. Default: the host's clock. Use a fixed one in tests.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Sets the generator of ids. Default: UUIDs of version 7. Use a counter in tests.
    pub fn ids(mut self, ids: impl IdGenerator) -> Self {
        self.ids = Arc::new(ids);
        self
    }

    /// Sets a clock and a generator of ids that other parts of the program share.
    pub fn shared_environment(mut self, clock: Arc<dyn Clock>, ids: Arc<dyn IdGenerator>) -> Self {
        (self.clock, self.ids) = (clock, ids);
        self
    }

    /// Builds the agents, or returns every fault of their configuration.
    pub fn build(self) -> Result<Agents, RuntimeFaults> {
        let mut faults = Vec::new();
        let named = self.client.as_ref().map(|client| client.name().to_owned());
        let model = self.model.or(named);
        if model.is_none() {
            faults.push(RuntimeFault::NoModel);
        }
        let model = model.unwrap_or_default();
        let name = provider_of(&model);
        let codec = self.codec.or_else(|| provider(name).ok());
        if codec.is_none() {
            faults.push(RuntimeFault::NoCodec { provider: name });
        }
        let client = self.client.map_or_else(|| from_environment(&model), Client::Model);
        let summaries = self.summaries.or_else(|| match &client {
            Client::Model(model) => Some(Arc::clone(model)),
            Client::Missing { .. } => None,
        });
        let stages = self.stages.unwrap_or_else(|| default_stages(summaries.is_some()));
        let mut runtime = self.runtime.compaction(stages).shared_clock(Arc::clone(&self.clock));
        runtime = runtime.recall_renderer(Arc::clone(&self.renderer));
        if !model.is_empty() {
            runtime = runtime.model(model);
        }
        if self.store.blobs().is_some() {
            runtime = runtime.spill(Arc::clone(&self.store));
        }
        if let Some(chain) = &self.recovery {
            runtime = runtime.recovery(chain.clone());
        }
        let recorder = Trajectories::builder(Arc::clone(&self.store))
            .clock(Arc::clone(&self.clock))
            .ids(Arc::clone(&self.ids));
        // The only error is a store without trajectories, which is allowed.
        let trajectories = recorder.build().ok().filter(|_| self.record);
        let runtime = runtime.build().map_err(|more| faults.extend(more.0)).ok();
        let (Some(runtime), Some(codec), true) = (runtime, codec, faults.is_empty()) else {
            return Err(RuntimeFaults(faults));
        };
        Ok(Agents(Arc::new(Parts {
            store: self.store,
            runtime,
            codec,
            client,
            summaries,
            ahead: self.ahead.then(BackgroundSummaries::new),
            recovery: self.recovery,
            calls: self.calls,
            limits: self.limits,
            history_tools: self.history_tools,
            freeze_prompt: self.freeze_prompt,
            durability: self.durability,
            trajectories,
            portraits: self.portraits,
            portrait_limit: self.portrait_limit,
            renderer: self.renderer,
            clock: self.clock,
            ids: self.ids,
        })))
    }
}

/// Returns the wire form of a model's vendor, by the model's name.
fn provider_of(model: &str) -> &'static str {
    match model {
        model if model.starts_with("claude") => "anthropic",
        model if model.starts_with("gemini") => "gemini",
        _ => "openai",
    }
}

#[cfg(feature = "model-http")]
fn from_environment(model: &str) -> Client {
    match context_model_http::HttpModel::from_env(model) {
        Ok(model) => Client::Model(Arc::new(model)),
        Err(error) => Client::Missing {
            kind: ErrorKind::Invalid,
            reason: format!("{error}; or hand over a `client`"),
        },
    }
}

#[cfg(not(feature = "model-http"))]
fn from_environment(_: &str) -> Client {
    let reason =
        "there is no model to ask: hand over a `client`, or turn on the feature model-http";
    Client::Missing { kind: ErrorKind::Unsupported, reason: reason.to_owned() }
}
