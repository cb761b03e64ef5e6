//! Model requests.

use std::sync::Arc;
use std::time::Duration;

use crate::message::{OpaqueBlock, Text};
use crate::model::{CachedContent, ProviderCompaction};
use crate::{Chain, Json, JsonString, Message, Messages, Metadata};

/// A provider-neutral model request.
///
/// A request may hold any history: codecs repair the messages before they lower them.
///
/// ```
/// use context_core::{Message, ModelRequest, Role};
///
/// let request = ModelRequest::new([
///     Message::from("Two tickets to Lisbon, please."),
///     Message::text(Role::Assistant, "Window or aisle?"),
///     Message::from("Aisle."),
/// ])
/// .system("You book trips.")
/// .max_output_tokens(1_000);
/// assert_eq!(request.messages.len(), 3);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ModelRequest {
    /// The model, by its provider's name. If there is none, codecs write none.
    pub model: Option<String>,
    /// The system prompt, in parts.
    pub system: Vec<Text>,
    /// The conversation, oldest first. System messages within it keep their position as far as the
    /// provider allows.
    pub messages: Messages,
    /// The tools that the model may call.
    pub tools: Vec<Tool>,
    /// Whether the model may, must or must not call a tool. `None`: the provider's default.
    pub tool_choice: Option<ToolChoice>,
    /// The schema that the answer must have.
    pub output: Option<OutputSchema>,
    /// The maximum number of output tokens.
    pub max_output_tokens: Option<u64>,
    /// The sampling temperature.
    pub temperature: Option<f64>,
    /// Whether the answer should be streamed. `None` leaves the key out of the body.
    pub stream: Option<bool>,
    /// The positions where the provider's prompt cache should end its entries, for providers that
    /// need to be told.
    pub cache: CacheMarks,
    /// The key of the provider's prompt cache. Requests with the same key and the same prefix are
    /// sent to the same cache. Codecs of providers that take no key leave it out.
    pub cache_key: Option<String>,
    /// The time that the provider's prompt cache should keep an entry after its last use. A codec
    /// asks for the shortest lifetime of its provider that is at least as long, or else for the
    /// longest; where the provider offers no choice, it asks for none. A codec does not know which
    /// model offers which lifetime, and a model may refuse the parameter: the default runtime asks
    /// its table of models. `None`: the provider's default.
    pub cache_lifetime: Option<Duration>,
    /// The beginning of this request that the provider has stored under a name, for providers that
    /// store it.
    pub cached_content: Option<Arc<CachedContent>>,
    /// Asks the provider to compact the conversation instead of answering it.
    pub compaction: Option<ProviderCompaction>,
    /// Whether a final assistant message is the beginning of the answer. If false, a short user
    /// message is appended wherever the provider refuses a request that ends with an assistant
    /// message.
    pub prefill: bool,
    /// The treatment of tool calls without results.
    pub unanswered: Unanswered,
    /// Additional metadata. The key `<codec>.body`, such as `anthropic.body`, holds an object with
    /// further keys of that codec's bodies. Only that codec writes them.
    pub metadata: Metadata,
}

impl ModelRequest {
    /// Creates a request from messages.
    pub fn new(messages: impl IntoIterator<Item = impl Into<Arc<Message>>>) -> Self {
        Self { messages: messages.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Creates a request from the messages of a chain. Messages that cannot be decoded are left
    /// out, as in a resolve.
    pub fn of_chain(chain: &Chain) -> Self {
        Self { messages: chain.messages(), ..Self::default() }
    }

    /// Sets the model.
    #[must_use]
    pub fn model(mut self, name: impl Into<String>) -> Self {
        self.model = Some(name.into());
        self
    }

    /// Adds a part to the system prompt. An empty text is ignored.
    #[must_use]
    pub fn system(mut self, text: impl Into<JsonString>) -> Self {
        let text = text.into();
        if !text.is_empty() {
            self.system.push(Text { text, metadata: Metadata::default() });
        }
        self
    }

    /// Adds tools.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = impl Into<Tool>>) -> Self {
        self.tools.extend(tools.into_iter().map(Into::into));
        self
    }

    /// Sets the tool choice.
    #[must_use]
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.tool_choice = Some(choice);
        self
    }

    /// Sets the schema of the answer.
    #[must_use]
    pub fn output(mut self, schema: OutputSchema) -> Self {
        self.output = Some(schema);
        self
    }

    /// Sets the maximum number of output tokens.
    #[must_use]
    pub fn max_output_tokens(mut self, tokens: u64) -> Self {
        self.max_output_tokens = Some(tokens);
        self
    }

    /// Sets the cache breakpoints.
    #[must_use]
    pub fn cache(mut self, marks: CacheMarks) -> Self {
        self.cache = marks;
        self
    }

    /// Sets the key of the prompt cache.
    #[must_use]
    pub fn cache_key(mut self, key: impl Into<String>) -> Self {
        self.cache_key = Some(key.into());
        self
    }

    /// Sets the lifetime of entries in the prompt cache.
    #[must_use]
    pub fn cache_lifetime(mut self, lifetime: Duration) -> Self {
        self.cache_lifetime = Some(lifetime);
        self
    }

    /// Sets the content that the provider has stored.
    #[must_use]
    pub fn cached_content(mut self, content: impl Into<Arc<CachedContent>>) -> Self {
        self.cached_content = Some(content.into());
        self
    }

    /// Asks the provider to compact the conversation instead of answering it.
    #[must_use]
    pub fn compaction(mut self, compaction: ProviderCompaction) -> Self {
        self.compaction = Some(compaction);
        self
    }

    /// Returns the texts of the system prompt that are not blank.
    pub fn system_texts(&self) -> impl DoubleEndedIterator<Item = &Text> {
        self.system.iter().filter(|text| !text.text.is_blank())
    }

    /// Returns the system prompt as one text: its parts, separated by blank lines. `None` if there
    /// is no system prompt.
    pub fn system_prompt(&self) -> Option<String> {
        let texts: Vec<&str> = self.system.iter().map(|text| text.text.as_str()).collect();
        (!texts.is_empty()).then(|| texts.join("\n\n"))
    }
}

/// A tool that a model may call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Tool {
    /// A function of the application.
    Function(FunctionTool),
    /// A tool that only its provider understands, such as built-in web search. The block's value is
    /// the entry in the body's list of tools.
    Opaque(OpaqueBlock),
}

/// A function of the application.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FunctionTool {
    /// The name of the function.
    pub name: String,
    /// The description for the model.
    pub description: Option<String>,
    /// The JSON Schema of the input, an object.
    pub input_schema: Json,
    /// Whether the model must follow the schema exactly. `None`: the provider's default.
    pub strict: Option<bool>,
    /// Additional facts, such as a codec's cache mark.
    pub metadata: Metadata,
}

impl FunctionTool {
    /// Creates a function with this name and input schema.
    pub fn new(name: impl Into<String>, input_schema: impl Into<Json>) -> Self {
        let (name, input_schema) = (name.into(), input_schema.into());
        Self { name, description: None, input_schema, strict: None, metadata: Metadata::default() }
    }

    /// Sets the description.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = Some(text.into());
        self
    }
}

impl From<FunctionTool> for Tool {
    fn from(tool: FunctionTool) -> Self {
        Self::Function(tool)
    }
}

/// A constraint on tool calls.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolChoice {
    /// The model may call tools.
    Auto,
    /// The model must not call tools.
    None,
    /// The model must call a tool.
    Required,
    /// The model must call this tool.
    Named(String),
}

/// The schema that an answer must have.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutputSchema {
    /// The name of the schema.
    pub name: String,
    /// The description for the model.
    pub description: Option<String>,
    /// The JSON Schema.
    pub schema: Json,
    /// Whether the model must follow the schema exactly. `None`: the provider's default.
    pub strict: Option<bool>,
}

impl OutputSchema {
    /// Creates a strict schema with this name.
    pub fn new(name: impl Into<String>, schema: impl Into<Json>) -> Self {
        Self { name: name.into(), description: None, schema: schema.into(), strict: Some(true) }
    }
}

/// Cache breakpoints: the ends of prompt cache entries, for providers that need to be told. A codec
/// writes at most as many as its provider accepts, preferring the last ones, and never on an
/// element that cannot carry one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CacheMarks {
    /// After the system prompt and after the conversation, which the next request repeats.
    #[default]
    Auto,
    /// After the system prompt, if there is one, and after the messages at these indexes of
    /// [`ModelRequest::messages`].
    At(Vec<usize>),
    /// Only on parts of the request that carry cache marks of their own, as they were lifted.
    Existing,
}

impl CacheMarks {
    /// Returns the indexes of [`At`](Self::At). Empty for the other variants.
    pub fn positions(&self) -> &[usize] {
        match self {
            Self::At(positions) => positions,
            Self::Auto | Self::Existing => &[],
        }
    }
}

/// The treatment of calls without results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unanswered {
    /// Answer each with a result that states this and is marked as
    /// [synthetic](Message::is_synthetic).
    #[default]
    Answer,
    /// Remove them, and messages that become empty. Used after cuts.
    Remove,
}

impl Unanswered {
    /// The text of the placeholder for a missing result.
    pub const TEXT: &str = "[no result: the call was interrupted or its result was lost]";
}
