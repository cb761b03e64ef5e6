//! Options of a replay.

use std::fmt;
use std::sync::Arc;

use context_core::model::{ModelCodec, TokenCounter};
use context_core::{ChatRef, Messages, ModelRequest};
use context_tokens::{BudgetError, Model, ModelTable, WindowSource};

use super::ReplayError;
use crate::plugins::codecs::provider;
use crate::plugins::policies::{POLICIES, policy};
use crate::runtime::{DefaultContextRuntime, DefaultContextRuntimeBuilder, Stage};

/// The default size of a block of requests.
const BLOCK: usize = 256;
/// The default number of left-out messages that a report lists one by one.
const LEFT_OUT: usize = 2_000;

/// Options of a [`RequestReplay`](super::RequestReplay). A what-if is a replay with other options
/// than the one before: see [`with_options`](super::RequestReplay::with_options).
///
/// ```
/// use context_runtime::sent::ReplayOptions;
///
/// let options = ReplayOptions::new("anthropic").model("claude-sonnet-4-5").window(32_000);
/// let options = options.policies(["microcompact", "snip"])?;
/// # Ok::<(), context_runtime::sent::ReplayError>(())
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct ReplayOptions {
    /// The name of the provider, as [`provider`](crate::provider) knows it.
    pub provider: String,
    /// The model. `None` for one of the provider's current ones.
    pub model: Option<String>,
    /// The window in tokens. `None` for that of the model.
    pub window: Option<u64>,
    /// The tokens reserved for the answer. `None` for the model's limit, at most a quarter of the
    /// window.
    pub reserve: Option<u64>,
    /// The stages that cut, gentlest first. `None` for all that need no model; empty cuts nothing.
    pub stages: Option<Vec<Stage>>,
    /// Parts of the request that are known from elsewhere, such as from the body of an imported
    /// file: system prompt, tools, answer format, tool choice. Its system prompt follows that of
    /// the chat; its messages are not used.
    pub request: ModelRequest,
    /// Instructions after the system prompt.
    pub instructions: Vec<String>,
    /// The chat, whose key of the provider's prompt cache is part of some bodies.
    pub chat: ChatRef,
    /// Whether stored boundaries are in force. Default: yes. Without them the replay cuts as if
    /// the chat had never been cut.
    pub boundaries: bool,
    /// The number of requests of a block, at least one. Default: 256.
    pub block: usize,
    /// The maximum number of left-out messages that a report lists one by one, the newest. Default:
    /// 2,000. Older ones are pieces of several messages.
    pub left_out: usize,
    counter: Option<Arc<dyn TokenCounter>>,
    models: Option<Arc<ModelTable>>,
}

impl ReplayOptions {
    /// Creates options for a provider.
    pub fn new(provider: impl Into<String>) -> Self {
        Self {
            provider: provider.into(),
            model: None,
            window: None,
            reserve: None,
            stages: None,
            request: ModelRequest::default(),
            instructions: Vec::new(),
            chat: ChatRef::from(("user", "chat")),
            boundaries: true,
            block: BLOCK,
            left_out: LEFT_OUT,
            counter: None,
            models: None,
        }
    }

    /// Sets the model.
    #[must_use]
    pub fn model(mut self, name: impl Into<String>) -> Self {
        self.model = Some(name.into());
        self
    }

    /// Sets the window in tokens.
    #[must_use]
    pub fn window(mut self, tokens: u64) -> Self {
        self.window = Some(tokens);
        self
    }

    /// Sets the tokens reserved for the answer.
    #[must_use]
    pub fn reserve(mut self, tokens: u64) -> Self {
        self.reserve = Some(tokens);
        self
    }

    /// Sets the stages that cut, gentlest first. None cuts nothing.
    #[must_use]
    pub fn stages(mut self, stages: impl IntoIterator<Item = impl Into<Stage>>) -> Self {
        self.stages = Some(stages.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the policies that cut by their names, gentlest first. No name cuts nothing.
    pub fn policies<'n>(
        self,
        names: impl IntoIterator<Item = &'n str>,
    ) -> Result<Self, ReplayError> {
        let stage = |name: &str| match policy(name) {
            Some(policy) => Ok(Stage::shared(policy)),
            None => Err(ReplayError::Policy { policy: name.to_owned() }),
        };
        let stages = names.into_iter().map(stage).collect::<Result<Vec<_>, _>>()?;
        Ok(self.stages(stages))
    }

    /// Sets parts of the request that are known from elsewhere.
    #[must_use]
    pub fn request(mut self, request: ModelRequest) -> Self {
        self.request = request;
        self
    }

    /// Sets the instructions after the system prompt.
    #[must_use]
    pub fn instructions(mut self, texts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.instructions = texts.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the chat.
    #[must_use]
    pub fn chat(mut self, chat: impl Into<ChatRef>) -> Self {
        self.chat = chat.into();
        self
    }

    /// Sets whether stored boundaries are in force.
    #[must_use]
    pub fn boundaries(mut self, in_force: bool) -> Self {
        self.boundaries = in_force;
        self
    }

    /// Sets the number of requests of a block.
    #[must_use]
    pub fn block(mut self, requests: usize) -> Self {
        self.block = requests.max(1);
        self
    }

    /// Sets the maximum number of left-out messages that a report lists one by one.
    #[must_use]
    pub fn left_out(mut self, messages: usize) -> Self {
        self.left_out = messages;
        self
    }

    /// Sets the token counter. Default: that of the model.
    #[must_use]
    pub fn counter(mut self, counter: Arc<dyn TokenCounter>) -> Self {
        self.counter = Some(counter);
        self
    }

    /// Sets the table of models. Default: the built-in table.
    #[must_use]
    pub fn models(mut self, table: ModelTable) -> Self {
        self.models = Some(Arc::new(table));
        self
    }

    /// Returns the table of models.
    pub(super) fn table(&self) -> &ModelTable {
        self.models.as_deref().unwrap_or_else(|| ModelTable::builtin())
    }

    /// Returns the name of the model.
    pub(super) fn model_name(&self) -> &str {
        self.model.as_deref().unwrap_or_else(|| default_model(&self.provider))
    }

    fn known_model(&self) -> Model<'_> {
        self.table().model(self.model_name())
    }

    /// Returns the counter of the replay's messages, uncached.
    pub(super) fn plain_counter(&self) -> Arc<dyn TokenCounter> {
        self.counter.clone().unwrap_or_else(|| Arc::new(self.known_model().counter()))
    }

    /// Returns whether messages have the same counts with other options.
    pub(super) fn counts_like(&self, other: &Self) -> bool {
        let same = match (&self.counter, &other.counter) {
            (None, None) => self.model_name() == other.model_name(),
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            _ => false,
        };
        same && self.models.is_none() && other.models.is_none()
    }

    /// Checks the options, and returns the codec and the source of the window.
    pub(super) fn check(&self) -> Result<(Arc<dyn ModelCodec>, WindowSource), ReplayError> {
        let codec = provider(&self.provider)
            .map_err(|source| ReplayError::Provider { provider: self.provider.clone(), source })?;
        let model = self.known_model();
        let budget = |source| ReplayError::Budget { model: model.name().to_owned(), source };
        model.budget(self.window, self.reserve).map_err(budget)?;
        let source = self.window.map(|_| WindowSource::Given).or(model.window_source());
        Ok((codec, source.ok_or_else(|| budget(BudgetError::UnknownWindow))?))
    }

    /// Returns the builder of a runtime with this configuration.
    pub(super) fn builder(&self, counter: Arc<dyn TokenCounter>) -> DefaultContextRuntimeBuilder {
        let mut builder = DefaultContextRuntime::builder().model(self.model_name());
        builder = builder.counter(counter).max_sessions(1);
        if let Some(models) = &self.models {
            builder = builder.models(ModelTable::clone(models));
        }
        if let Some(window) = self.window {
            builder = builder.window(window);
        }
        if let Some(reserve) = self.reserve {
            builder = builder.reserve(reserve);
        }
        builder.compaction(self.stages.clone().unwrap_or_else(default_stages))
    }

    /// Returns the request without messages and without the stored prompt. An answer limit of these
    /// parts is kept within the default reserve.
    pub(super) fn parts(&self) -> ModelRequest {
        let mut request = self.request.clone();
        request.messages = Messages::new();
        request.model = Some(self.model_name().to_owned());
        let model = self.known_model();
        let most = model.budget(self.window, self.reserve).map(|budget| budget.reserve);
        request.max_output_tokens = match (self.reserve, most) {
            (None, Ok(most)) => request.max_output_tokens.map(|own| own.clamp(1, most.max(1))),
            _ => None,
        };
        request
    }
}

/// Returns all policies that need no model.
fn default_stages() -> Vec<Stage> {
    POLICIES.iter().filter_map(|name| policy(name)).map(Stage::shared).collect()
}

/// Returns the default model of a provider.
fn default_model(provider: &str) -> &'static str {
    match provider {
        "anthropic" => "claude-sonnet-4-5",
        "gemini" => "gemini-2.5-pro",
        _ => "gpt-5",
    }
}

impl fmt::Debug for ReplayOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplayOptions")
            .field("provider", &self.provider)
            .field("model", &self.model)
            .field("window", &self.window)
            .field("reserve", &self.reserve)
            .field("stages", &self.stages)
            .field("chat", &self.chat)
            .field("boundaries", &self.boundaries)
            .field("block", &self.block)
            .finish_non_exhaustive()
    }
}
