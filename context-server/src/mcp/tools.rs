//! The tools.

use context_runtime::{BranchName, HistoryTools, Metadata, Part, ToolCall, ToolInput, display};
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::CallToolResult;
use rmcp::{tool, tool_router};
use serde_json::json;

use super::McpServer;
use super::answer::{Lines, MOST_BYTES, failed, text, time};
use super::arguments::{
    Compact, ContextStatus, Forget, Fork, ListChats, ReadMessages, Recall, Remember, SearchHistory,
};
use crate::OperationError;
use crate::operations::{
    Action, ForgetMemory, Operations, PrepareRequest, RememberText, TurnSettings,
};

/// The number of messages that are read if none is named.
const NEWEST: u64 = 20;

type Done = Result<CallToolResult, OperationError>;

/// The tools answer a model, so their errors are results, too.
fn settled(done: Done) -> CallToolResult {
    done.unwrap_or_else(|error| failed(&error))
}

#[tool_router(router = tool_routes)]
impl McpServer {
    /// Lists earlier conversations, newest activity first: id, title, messages, time.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn list_chats(&self, Parameters(asked): Parameters<ListChats>) -> CallToolResult {
        settled(list_chats(&self.operations, asked).await)
    }

    /// Finds messages of earlier conversations by their words, best first. Names the chat and the
    /// id of each message, for read_messages.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn search_history(&self, Parameters(asked): Parameters<SearchHistory>) -> CallToolResult {
        settled(search_history(&self.operations, asked).await)
    }

    /// Reads messages of a conversation by number or id, also those that a compaction took out of
    /// the window and tool results that were too large for it.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn read_messages(&self, Parameters(asked): Parameters<ReadMessages>) -> CallToolResult {
        settled(read_messages(&self.operations, asked).await)
    }

    /// Finds what is remembered of this user for a request: notes, facts, earlier messages.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn recall(&self, Parameters(asked): Parameters<Recall>) -> CallToolResult {
        settled(recall(&self.operations, asked).await)
    }

    /// Keeps a text about this user for later conversations. The same text is kept once.
    #[tool(annotations(destructive_hint = false, idempotent_hint = true, open_world_hint = false))]
    async fn remember(&self, Parameters(asked): Parameters<Remember>) -> CallToolResult {
        settled(remember(&self.operations, asked).await)
    }

    /// Removes a memory for good.
    #[tool(annotations(destructive_hint = true, idempotent_hint = true, open_world_hint = false))]
    async fn forget(&self, Parameters(asked): Parameters<Forget>) -> CallToolResult {
        settled(forget(&self.operations, asked).await)
    }

    /// Copies a conversation up to a message to a new chat, to try something else there.
    #[tool(annotations(destructive_hint = false, open_world_hint = false))]
    async fn fork(&self, Parameters(asked): Parameters<Fork>) -> CallToolResult {
        settled(fork(&self.operations, asked).await)
    }

    /// Counts what fills the window of a conversation: system prompt, tools, messages, the rest.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn context_status(&self, Parameters(asked): Parameters<ContextStatus>) -> CallToolResult {
        settled(context_status(&self.operations, asked).await)
    }

    /// Makes room in the window of a conversation, gently first. Nothing is deleted, and it can be
    /// undone.
    #[tool(annotations(destructive_hint = false, open_world_hint = false))]
    async fn compact(&self, Parameters(asked): Parameters<Compact>) -> CallToolResult {
        settled(compact(&self.operations, asked).await)
    }
}

impl McpServer {
    pub(super) fn tools() -> ToolRouter<Self> {
        Self::tool_routes()
    }
}

async fn list_chats(operations: &Operations, asked: ListChats) -> Done {
    let page = operations.chats(asked.after.as_deref()).await?;
    let mut lines = Lines::default();
    if page.chats.is_empty() {
        lines.add("There are no conversations yet.");
    }
    for chat in &page.chats {
        let title = chat.title.as_deref().map(|title| format!(" · {}", one_line(title)));
        let (name, title) = (one_line(&chat.chat), title.unwrap_or_default());
        let (messages, updated) = (chat.messages, time(chat.updated_at));
        lines.add(&format!("{name}{title} · {messages} messages · {updated}"));
    }
    if let Some(next) = page.next {
        lines.add(&format!("More: list_chats with after {next:?}"));
    }
    Ok(text(lines.finish()))
}

async fn search_history(operations: &Operations, asked: SearchHistory) -> Done {
    let (chat, after) = (asked.chat.as_deref(), asked.after.as_deref());
    let found = operations.search(&asked.query, chat, after).await?;
    let mut lines = Lines::default();
    if found.hits.is_empty() {
        lines.add("No message has all of these words. Try fewer, or other forms of them.");
    }
    for hit in &found.hits {
        let snippet: String = hit.snippet.iter().map(|(piece, _)| piece.as_str()).collect();
        let (before, after) = (dots(hit.cut_before), dots(hit.cut_after));
        lines.add(&format!(
            "chat {:?} · message {:?} · {} · {}\n  {before}{}{after}",
            hit.chat,
            hit.message,
            hit.role,
            time(hit.created_at),
            one_line(&snippet),
        ));
    }
    if let Some(next) = found.next {
        lines.add(&format!("More: search_history with after {next:?}"));
    }
    Ok(text(lines.finish()))
}

async fn read_messages(operations: &Operations, asked: ReadMessages) -> Done {
    let offset = asked.offset.unwrap_or_default();
    if let Some(message) = &asked.message {
        return Ok(text(one_message(operations, &asked.chat, message, offset).await?));
    }
    let branch = match asked.branch {
        Some(branch) => branch,
        None => operations.chat_with_branches(&asked.chat).await?.active,
    };
    let mut input = serde_json::Map::new();
    let (first, last) = match asked.first {
        Some(first) => (first, asked.last),
        None => {
            let newest = operations.branch_length(&asked.chat, &branch).await?;
            (newest.saturating_sub(NEWEST - 1).max(1), Some(newest.max(1)))
        }
    };
    input.insert("first".to_owned(), json!(first));
    input.insert("offset".to_owned(), json!(offset));
    if let Some(last) = last {
        input.insert("last".to_owned(), json!(last));
    }
    let call = ToolCall {
        id: "mcp".to_owned(),
        name: HistoryTools::READ.to_owned(),
        input: ToolInput::Json(json!(input).into()),
        metadata: Metadata::default(),
    };
    let chat = operations.chat_ref(&asked.chat);
    let tools = HistoryTools::new(&**operations.store(), chat, BranchName::from(&*branch));
    let result = tools.answer(&call).await;
    let texts = result.output.iter().filter_map(|part| match part {
        Part::Text(part) => Some(part.text.as_str()),
        _ => None,
    });
    let mut answer = text(texts.collect::<Vec<_>>().join("\n"));
    answer.is_error = Some(result.is_error);
    Ok(answer)
}

/// Returns a piece of one message, on any branch.
async fn one_message(
    operations: &Operations,
    chat: &str,
    message: &str,
    offset: usize,
) -> Result<String, OperationError> {
    let stored = operations.message(chat, message).await?;
    let whole = stored.text();
    let start = whole.floor_char_boundary(offset.min(whole.len()));
    let end = whole.floor_char_boundary(start.saturating_add(MOST_BYTES).min(whole.len()));
    let mut shown = format!("{} · {} · {}\n", stored.id, stored.kind, time(stored.created_at));
    shown.push_str(&whole[start..end]);
    if end < whole.len() {
        shown.push_str(&format!("\n({} bytes; go on with offset {end})", whole.len()));
    }
    Ok(shown)
}

async fn recall(operations: &Operations, asked: Recall) -> Done {
    let recalled = operations.would_recall(&asked.query, None, asked.tokens).await?;
    let mut lines = Lines::default();
    if recalled.memories.is_empty() {
        lines.add("Nothing is remembered that fits this request.");
    }
    for memory in &recalled.memories {
        let at = memory.at.map(|at| format!(" · {}", time(at))).unwrap_or_default();
        let speaker = memory.speaker.as_deref().map(|it| format!(" · {}", one_line(it)));
        let name = match (&memory.id, &memory.scope) {
            (Some(id), Some(scope)) => format!(" · id {id:?} · scope {:?}", scope.key()),
            _ => String::new(),
        };
        lines.add(&format!("{}{}{at}{name}", memory.kind, speaker.unwrap_or_default()));
        memory.text.lines().for_each(|line| lines.add(&format!("  {line}")));
    }
    Ok(text(lines.finish()))
}

async fn remember(operations: &Operations, asked: Remember) -> Done {
    operations.remember(RememberText::new(asked.text)).await?;
    Ok(text("It is remembered, and recalled in later conversations."))
}

async fn forget(operations: &Operations, asked: Forget) -> Done {
    let forgotten = operations.forget(ForgetMemory::named(&asked.scope, asked.id)?).await?;
    let mut lines = Lines::default();
    lines.add(match forgotten.removed {
        0 => "There is no such memory.",
        _ => "The memory is removed.",
    });
    forgotten.notes.iter().for_each(|note| lines.add(note));
    Ok(text(lines.finish()))
}

async fn fork(operations: &Operations, asked: Fork) -> Done {
    let message = match asked.message {
        Some(message) => message.into(),
        None => operations.newest_message(&asked.chat).await?,
    };
    let action = Action::Fork { message, to: asked.to };
    Ok(text(operations.act(&asked.chat, action).await?.text))
}

async fn context_status(operations: &Operations, asked: ContextStatus) -> Done {
    let mut settings = TurnSettings { model: asked.model, ..TurnSettings::default() };
    settings.branch = asked.branch;
    let prepared = operations.prepare(&asked.chat, PrepareRequest::new(settings)).await?;
    let tokens = prepared.tokens;
    let mut lines = Lines::default();
    let window = prepared.window.unwrap_or_default();
    let reserve = prepared.reserve.unwrap_or_default();
    let room = window.saturating_sub(reserve);
    lines.add(&format!(
        "{} of {} tokens are used; {} more are kept for the answer.",
        display::grouped(tokens.total),
        display::grouped(room),
        display::grouped(reserve),
    ));
    for (part, count) in [
        ("system prompt", tokens.system + tokens.instructions),
        ("tools", tokens.tools),
        ("summary of earlier messages", tokens.checkpoint),
        ("messages", tokens.history),
        ("recalled memories", tokens.recall),
    ] {
        if count > 0 {
            lines.add(&format!("{part}: {}", display::grouped(count)));
        }
    }
    Ok(text(lines.finish()))
}

async fn compact(operations: &Operations, asked: Compact) -> Done {
    let action = Action::Compact {
        branch: asked.branch,
        policies: Operations::compactable().map(ToOwned::to_owned).collect(),
        model: asked.model,
        window: asked.window,
    };
    Ok(text(operations.act(&asked.chat, action).await?.text))
}

/// Returns a text on one line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn dots(is_cut: bool) -> &'static str {
    if is_cut { "…" } else { "" }
}
