//! Tools with which a model reads its own conversation back, sees how full its window is, and asks
//! for a compaction.

mod read;
mod search;

use std::fmt;

use context_core::base::display::shown;
use context_core::model::FunctionTool;
use context_core::store::HistoryStore;
use context_core::{
    BranchName, ChatRef, Error, ErrorKind, MessageId, Result, Store, ToolCall, ToolResult,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::DefaultContextRuntime;

/// The maximum number of bytes of a result. No text has more tokens than bytes, so a result is
/// never spilled.
const MOST_BYTES: usize = 8_000;
/// The maximum number of bytes of a model's words that an error repeats.
const MOST_REPEATED: usize = 100;

/// Tools of a model over the conversation that it is in, as stored: also the part that was
/// compacted away, or spilled because it was too large.
///
/// | tool | shows |
/// |---|---|
/// | [`search_history`](Self::SEARCH) | the messages of the branch with some words, best first; needs a store that searches |
/// | [`read_messages`](Self::READ) | a range of messages by number; of one long message any part, spilled results included |
/// | [`context_status`](Self::STATUS) | the size of the window, what fills it and what is left; needs a [runtime](Self::runtime) |
/// | [`compact`](Self::COMPACT) | asks the runtime to compact before the next call, with instructions for the summary; needs a runtime |
///
/// A result has at most 8,000 bytes and says how to go on. An error is a result too, which tells
/// the model what to do. Results depend on the stored conversation and the newest request alone, so
/// a recorded turn can be replayed. A turn offers and answers these tools with
/// [`TurnBuilder::history_tools`](crate::TurnBuilder::history_tools).
///
/// ```
/// use context_runtime::{ContextEngine, HistoryTools, Part, assistant, user};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> context_runtime::Result<()> {
/// let store = context_runtime::open("mem:").await?;
/// let mut chat = ContextEngine::builder(store.clone()).user("ada").chat("trip").open().await?;
/// chat.set([user("My passport ends in 4711."), assistant("Noted.")]).save().await?;
///
/// let tools = HistoryTools::new(&*store, chat.chat_ref().clone(), chat.branch().clone());
/// let input = serde_json::json!({"first": 1, "last": 1});
/// let Part::ToolCall(call) = Part::tool_call("c1", "read_messages", input) else { unreachable!() };
/// let Part::Text(text) = &tools.answer(&call).await.output[0] else { unreachable!() };
/// assert!(text.text.ends_with("My passport ends in 4711."));
/// # Ok(())
/// # }
/// ```
pub struct HistoryTools<'a> {
    store: &'a dyn Store,
    chat: ChatRef,
    branch: BranchName,
    runtime: Option<&'a DefaultContextRuntime>,
}

impl HistoryTools<'_> {
    /// The name of the tool that searches the conversation.
    pub const SEARCH: &'static str = "search_history";
    /// The name of the tool that reads messages of the conversation.
    pub const READ: &'static str = "read_messages";
    /// The name of the tool that says what fills the window.
    pub const STATUS: &'static str = "context_status";
    /// The name of the tool that asks for a compaction.
    pub const COMPACT: &'static str = "compact";
}

impl<'a> HistoryTools<'a> {
    /// Creates the tools for a branch of a chat.
    pub fn new(store: &'a dyn Store, chat: ChatRef, branch: BranchName) -> Self {
        Self { store, chat, branch, runtime: None }
    }

    /// Sets the runtime that prepares the requests of the chat, for the tools about its window.
    #[must_use]
    pub fn runtime(mut self, runtime: &'a DefaultContextRuntime) -> Self {
        self.runtime = Some(runtime);
        self
    }

    /// Returns the tools to offer to the model.
    pub fn tools(&self) -> Vec<FunctionTool> {
        let mut tools = Vec::new();
        if self.store.search().is_some() {
            tools.push(search::tool());
        }
        tools.push(read::tool());
        if self.runtime.is_some() {
            tools.extend([status_tool(), compact_tool()]);
        }
        tools
    }

    /// Returns whether a call is one of these tools.
    pub fn answers(&self, call: &ToolCall) -> bool {
        match call.name.as_str() {
            Self::SEARCH => self.store.search().is_some(),
            Self::READ => true,
            Self::STATUS | Self::COMPACT => self.runtime.is_some(),
            _ => false,
        }
    }

    /// Answers a call. Never fails: an error becomes the tool result.
    pub async fn answer(&self, call: &ToolCall) -> ToolResult {
        let answered = match (call.name.as_str(), self.runtime) {
            (Self::SEARCH, _) => self.search(call).await,
            (Self::READ, _) => self.read(call).await,
            (Self::STATUS, Some(runtime)) => Ok(self.status(runtime)),
            (Self::COMPACT, Some(runtime)) => self.compact(call, runtime),
            _ => Err(format!("There is no tool {} here.", shown(&call.name))),
        };
        match answered {
            Ok(text) => call.result(text),
            Err(reason) => call.error(reason),
        }
    }

    fn status(&self, runtime: &DefaultContextRuntime) -> String {
        match runtime.status(&self.chat) {
            Some(status) => status.to_string(),
            None => "Nothing was sent in this conversation yet.".to_owned(),
        }
    }

    fn compact(
        &self,
        call: &ToolCall,
        runtime: &DefaultContextRuntime,
    ) -> std::result::Result<String, String> {
        #[derive(Deserialize)]
        struct Arguments {
            #[serde(default)]
            instructions: String,
        }
        let Arguments { instructions } = arguments(call)?;
        runtime.request_compaction(&self.chat, instructions);
        Ok("The earlier conversation is compacted before the next call, as far as possible. Nothing is deleted: read_messages still shows it.".to_owned())
    }

    /// Returns the number of messages of the branch.
    async fn count(&self) -> Result<u64> {
        let history = self.store.history();
        let branches = history.branches(&self.chat).await?;
        let branch = branches.into_iter().find(|branch| branch.name == self.branch);
        let branch =
            branch.ok_or_else(|| Error::not_found("read_messages", "branch", &self.branch))?;
        let Some(head) = branch.head else { return Ok(0) };
        let numbers = numbers(history, &self.chat, &[head]).await?;
        Ok(numbers.into_iter().flatten().next().unwrap_or(0))
    }
}

/// Returns the number of each message, from 1 for the first of its branch.
async fn numbers(
    history: &dyn HistoryStore,
    chat: &ChatRef,
    ids: &[MessageId],
) -> Result<Vec<Option<u64>>> {
    let placed = history.messages(chat, ids).await?;
    Ok(placed.into_iter().map(|placed| placed.map(|placed| placed.depth + 1)).collect())
}

/// Parses the arguments of a call, or tells the model what is wrong with them.
fn arguments<A: DeserializeOwned>(call: &ToolCall) -> std::result::Result<A, String> {
    call.input.parse::<A>().map_err(|error| {
        let text = error.to_string();
        format!("The arguments were not understood: {}.", beginning(&text, MOST_REPEATED))
    })
}

/// Tells a model about an error of the store, without its details.
fn unavailable(error: Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "This conversation is not stored yet.".to_owned(),
        _ => "The conversation cannot be read at the moment.".to_owned(),
    }
}

/// Returns the beginning of a text, at most this many bytes, whole characters.
fn beginning(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

fn status_tool() -> FunctionTool {
    FunctionTool::new(HistoryTools::STATUS, json!({"type": "object", "properties": {}})).description(
        "Says how full your context window is: its size, what fills it, what is left. Ask before a large task.",
    )
}

fn compact_tool() -> FunctionTool {
    let schema = json!({
        "type": "object",
        "properties": {
            "instructions": {"type": "string", "description": "What to keep in mind when the earlier conversation is shortened, in a sentence or two."},
        },
    });
    FunctionTool::new(HistoryTools::COMPACT, schema).description(
        "Shortens the earlier conversation before your next step, such as when a part of the task is done and its details are no longer needed.",
    )
}

impl fmt::Debug for HistoryTools<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HistoryTools")
            .field("chat", &self.chat)
            .field("branch", &self.branch)
            .finish_non_exhaustive()
    }
}
