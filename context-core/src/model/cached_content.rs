//! Parts of requests that a provider stores under a name.

use std::sync::Arc;

use crate::message::Text;
use crate::model::{Tool, ToolChoice};
use crate::{Message, ModelRequest};

/// The beginning of a request that the program has stored at the provider under a name, ahead of
/// its requests. Gemini calls this cached content.
///
/// A [request](ModelRequest::cached_content) with cached content still holds everything. The codec
/// of the provider leaves out what is stored and sends the name instead, and refuses a request that
/// does not begin with it. Codecs of other providers send the whole request.
///
/// ```
/// use context_core::model::CachedContent;
/// use context_core::{Message, ModelRequest};
///
/// let question = "Which of these trains leaves first?";
/// let request = ModelRequest::new([Message::from("<timetable/>"), question.into()]).system("You book trips.");
/// let stored = CachedContent::of("cachedContents/8kz", &request, 1);
/// assert!(stored.fits(&request));
/// assert!(!stored.fits(&request.clone().system("Be brief.")));
/// let named = CachedContent::new("cachedContents/8kz");
/// assert!(!named.fits(&request) && !named.is_known()); // nobody said what it holds
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct CachedContent {
    /// The name that the provider gave it.
    pub name: String,
    /// The stored system prompt, in parts.
    pub system: Vec<Text>,
    /// The stored tools.
    pub tools: Vec<Tool>,
    /// The stored tool choice.
    pub tool_choice: Option<ToolChoice>,
    /// The stored messages, the first ones of the conversation.
    pub messages: Vec<Arc<Message>>,
}

impl CachedContent {
    /// Creates cached content of which only the name is known. A request with it may have no system
    /// prompt, tools or tool choice of its own, and all its messages are sent. Runtimes leave it in
    /// the request, since nothing stands for what it holds.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Creates cached content that holds the system prompt, the tools, the tool choice and the
    /// first `messages` messages of a request.
    pub fn of(name: impl Into<String>, request: &ModelRequest, messages: usize) -> Self {
        Self {
            name: name.into(),
            system: request.system.clone(),
            tools: request.tools.clone(),
            tool_choice: request.tool_choice.clone(),
            messages: request.messages.iter().take(messages).cloned().collect(),
        }
    }

    /// Returns whether more than the name is known.
    pub fn is_known(&self) -> bool {
        let has_settings = self.tool_choice.is_some() || !self.tools.is_empty();
        has_settings || !self.system.is_empty() || !self.messages.is_empty()
    }

    /// Returns whether the request begins with this content. Keys in the metadata of a request are
    /// not compared: a `toolConfig` in `gemini.body` is refused by the codec, as by the provider.
    pub fn fits(&self, request: &ModelRequest) -> bool {
        request.system == self.system
            && request.tools == self.tools
            && request.tool_choice == self.tool_choice
            && request.messages.starts_with(&self.messages)
    }
}
