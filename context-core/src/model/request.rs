//! What a model is asked.

use std::sync::Arc;

use crate::message::is_blank;
use crate::message::{OpaqueBlock, Text};
use crate::{Chain, Json, Message, Metadata};

/// What a model is asked, whoever provides it.
///
/// Codecs repair the messages before they write them; a request may hold any history.
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
    /// The model, under its provider's name. A codec writes none if there is none.
    pub model: Option<String>,
    /// The system prompt, in parts.
    pub system: Vec<Text>,
    /// The conversation, oldest first. System messages in it stay where they are as far as the
    /// provider allows it.
    pub messages: Vec<Arc<Message>>,
    /// What the model may call.
    pub tools: Vec<Tool>,
    /// Whether it may, must or must not call; nothing leaves it to the provider.
    pub tool_choice: Option<ToolChoice>,
    /// The form the answer must have.
    pub output: Option<OutputSchema>,
    /// The most tokens the model may write.
    pub max_output_tokens: Option<u64>,
    /// How much chance there is in the answer.
    pub temperature: Option<f64>,
    /// Whether the answer should come in events; nothing leaves it out of the body.
    pub stream: Option<bool>,
    /// Where the provider's prompt cache should end its entries, if the provider wants to be told.
    pub cache: CacheMarks,
    /// Whether a last message of the assistant is the beginning of the answer. If not, it is
    /// followed by a short message of the user wherever the provider refuses a request that ends
    /// with the assistant.
    pub prefill: bool,
    /// What becomes of calls without results.
    pub unanswered: Unanswered,
    /// Facts beside it. Under `<codec>.body`, such as `anthropic.body`, stands an object of other
    /// keys of that codec's bodies: it writes them, no other does.
    pub metadata: Metadata,
}

impl ModelRequest {
    /// A request of these messages.
    pub fn new(messages: impl IntoIterator<Item = impl Into<Arc<Message>>>) -> Self {
        Self { messages: messages.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// A request of the messages of a chain. What cannot be read is left out, as a resolve does.
    pub fn of_chain(chain: &Chain) -> Self {
        Self::new(chain.iter().filter_map(|node| node.message().ok().cloned()))
    }

    /// For this model.
    #[must_use]
    pub fn model(mut self, name: impl Into<String>) -> Self {
        self.model = Some(name.into());
        self
    }

    /// With another part of the system prompt; an empty one adds none.
    #[must_use]
    pub fn system(mut self, text: impl Into<String>) -> Self {
        let text = text.into();
        if !text.is_empty() {
            self.system.push(Text { text, metadata: Metadata::default() });
        }
        self
    }

    /// With these tools.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = impl Into<Tool>>) -> Self {
        self.tools.extend(tools.into_iter().map(Into::into));
        self
    }

    /// With this choice of tools.
    #[must_use]
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.tool_choice = Some(choice);
        self
    }

    /// With this form of the answer.
    #[must_use]
    pub fn output(mut self, schema: OutputSchema) -> Self {
        self.output = Some(schema);
        self
    }

    /// With room for this many tokens of answer.
    #[must_use]
    pub fn max_output_tokens(mut self, tokens: u64) -> Self {
        self.max_output_tokens = Some(tokens);
        self
    }

    /// With these marks for the prompt cache.
    #[must_use]
    pub fn cache(mut self, marks: CacheMarks) -> Self {
        self.cache = marks;
        self
    }

    /// The texts of the system prompt that say something.
    pub fn system_texts(&self) -> impl DoubleEndedIterator<Item = &Text> {
        self.system.iter().filter(|text| !is_blank(&text.text))
    }
}

/// What a model may call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Tool {
    /// A function of the application.
    Function(FunctionTool),
    /// A tool only its provider understands, such as a web search of its own. The block's value is
    /// the entry of the body's list of tools.
    Opaque(OpaqueBlock),
}

/// A function of the application.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FunctionTool {
    /// Under which it is called.
    pub name: String,
    /// What it does, for the model.
    pub description: Option<String>,
    /// The JSON Schema of its input, an object.
    pub input_schema: Json,
    /// Whether the model must keep to the schema exactly; nothing leaves it to the provider.
    pub strict: Option<bool>,
    /// Facts beside it.
    pub metadata: Metadata,
}

impl FunctionTool {
    /// A function of this name and input.
    pub fn new(name: impl Into<String>, input_schema: impl Into<Json>) -> Self {
        let (name, input_schema) = (name.into(), input_schema.into());
        Self { name, description: None, input_schema, strict: None, metadata: Metadata::default() }
    }

    /// With this description.
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

/// Whether a model may, must or must not call tools.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolChoice {
    /// As it likes.
    Auto,
    /// It must not.
    None,
    /// It must call one.
    Required,
    /// It must call this one.
    Named(String),
}

/// The form an answer must have.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutputSchema {
    /// Names the form.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
    /// The JSON Schema.
    pub schema: Json,
    /// Whether the model must keep to it exactly; nothing leaves it to the provider.
    pub strict: Option<bool>,
}

impl OutputSchema {
    /// A form of this name and schema, to be kept to exactly.
    pub fn new(name: impl Into<String>, schema: impl Into<Json>) -> Self {
        Self { name: name.into(), description: None, schema: schema.into(), strict: Some(true) }
    }
}

/// Where entries of a prompt cache end, for providers that want to be told. A codec writes at most
/// as many as its provider takes, the last ones first, and never on something that cannot carry
/// one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CacheMarks {
    /// Behind the system prompt and behind the conversation: what is sent again next time.
    #[default]
    Auto,
    /// Behind the system prompt, if there is one, and behind the messages at these positions of
    /// [`ModelRequest::messages`].
    At(Vec<usize>),
    /// Only where parts of the request carry marks of their own, as they were read.
    Kept,
}

/// What becomes of calls without results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unanswered {
    /// Each is answered by a result that says so and is marked as [synthetic](Message::SYNTHETIC).
    #[default]
    Answer,
    /// They are removed, and what is left empty with them: what a cut does.
    Remove,
}

impl Unanswered {
    /// What the placeholder of a missing result says.
    pub const TEXT: &str = "[no result: the call was interrupted or its result was lost]";
}
