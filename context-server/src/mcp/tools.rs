//! The tools.

use context_runtime::tokens::ModelTable;
use context_runtime::{Error, ErrorKind, display, limits};
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolResult, Tool};
use rmcp::{tool, tool_router};

use super::answer::{Lines, failed, text, time};
use super::arguments::{
    Compact, ContextStatus, Forget, Fork, ListChats, ReadMessages, Recall, Remember, SearchHistory,
};
use super::{McpServer, read};
use crate::OperationError;
use crate::operations::{
    Action, CAN_BE_UNDONE, ForgetMemory, Operations, PrepareRequest, RememberText, TurnSettings,
};

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

    /// Finds messages of earlier conversations by their words, best first. Names the chat, the id
    /// and the number of each message: read_messages reads it by its id, and what surrounds it by
    /// numbers.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn search_history(&self, Parameters(asked): Parameters<SearchHistory>) -> CallToolResult {
        settled(search_history(&self.operations, asked).await)
    }

    /// Reads messages of a conversation by number or id, without either the newest; also those that
    /// a compaction took out of the window and tool results that were too large for it. An answer
    /// has as many messages as fit, long ones shortened; one message alone comes in pieces of
    /// 40,000 bytes.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn read_messages(&self, Parameters(asked): Parameters<ReadMessages>) -> CallToolResult {
        settled(read_messages(&self.operations, asked).await)
    }

    /// Finds what is remembered of this user for a request: texts that `remember` kept, facts, and
    /// what agents with a memory were told. Imported messages are found by search_history instead.
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

    /// Counts what fills the window of a stored conversation: system prompt, tools, messages, the
    /// rest.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn context_status(&self, Parameters(asked): Parameters<ContextStatus>) -> CallToolResult {
        settled(context_status(&self.operations, asked).await)
    }

    /// Makes room in the window of a stored conversation, gently first, and not in that of the
    /// agent that calls it. Nothing is deleted, and it can be undone. Of a conversation that is
    /// imported from a file, compact a `fork`: the file's new messages are not imported after it.
    #[tool(annotations(destructive_hint = false, open_world_hint = false))]
    async fn compact(&self, Parameters(asked): Parameters<Compact>) -> CallToolResult {
        settled(compact(&self.operations, asked).await)
    }
}

impl McpServer {
    pub(super) fn tools() -> ToolRouter<Self> {
        Self::tool_routes()
    }

    /// Returns whether a tool is offered: a server that changes nothing has those that read.
    pub(super) fn offers(&self, tool: &Tool) -> bool {
        let hints = tool.annotations.as_ref();
        !self.operations.is_read_only() || hints.and_then(|it| it.read_only_hint) == Some(true)
    }
}

async fn list_chats(operations: &Operations, asked: ListChats) -> Done {
    let page = operations.chats(asked.after.as_deref()).await;
    let page = page.map_err(|error| of_cursor(error, asked.after.as_deref()))?;
    let mut lines = Lines::default();
    if page.chats.is_empty() {
        lines.add(&format!(
            "The user {} has no conversations in this store. `context import` brings those of \
             other programs in.",
            operations.owner(),
        ));
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
    check_query(&asked.query)?;
    if let Some(chat) = chat {
        operations.known_branch(chat, None).await?;
    }
    let found = operations.search(&asked.query, chat, after).await;
    let found = found.map_err(|error| of_cursor(error, after))?;
    let numbers = operations.numbers(&found.hits).await;
    let mut lines = Lines::default();
    if found.hits.is_empty() {
        lines.add(
            "No message has all of these words. Try fewer of them, or try the beginning of a word.",
        );
    }
    for hit in &found.hits {
        let snippet: String = hit.snippet.iter().map(|(piece, _)| piece.as_str()).collect();
        let (before, after) = (dots(hit.cut_before), dots(hit.cut_after));
        let number = numbers.get(&(hit.chat.clone(), hit.message.clone()));
        let number = number.map(|number| format!(" · #{number}")).unwrap_or_default();
        lines.add(&format!(
            "chat {:?} · message {:?}{number} · {} · {}\n  {before}{}{after}",
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
    Ok(text(read::read_messages(operations, asked).await?))
}

async fn recall(operations: &Operations, asked: Recall) -> Done {
    check_query(&asked.query)?;
    let recalled = operations.would_recall(&asked.query, None, asked.tokens).await?;
    let mut lines = Lines::default();
    if recalled.memories.is_empty() {
        lines.add("Nothing is remembered that fits this request. search_history looks into chats.");
    }
    for memory in &recalled.memories {
        let at = memory.at.map(|at| format!(" · {}", time(at))).unwrap_or_default();
        let speaker = memory.speaker.as_deref().map(|it| format!(" · {}", one_line(it)));
        let name = memory.id.as_ref().map(|id| format!(" · id {id:?}")).unwrap_or_default();
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
    let scope = match asked.scope.filter(|scope| !scope.is_empty()) {
        Some(scope) => scope,
        None => only_scope(operations, &asked.id).await?,
    };
    let memory = ForgetMemory::named(&scope, asked.id).map_err(|_| {
        let problem = "no scope has this name; leave `scope` out, or give it as printed";
        OperationError::invalid("scope", problem)
    })?;
    let forgotten = operations.forget(memory).await?;
    let mut lines = Lines::default();
    lines.add(match forgotten.removed {
        0 => "There is no such memory.",
        _ => "The memory is removed.",
    });
    forgotten.notes.iter().for_each(|note| lines.add(note));
    Ok(text(lines.finish()))
}

/// Returns the scope of a memory that has its id alone.
async fn only_scope(operations: &Operations, id: &str) -> Result<String, OperationError> {
    let scopes = operations.scopes_of_memory(id).await?;
    match &scopes[..] {
        [] => Err(Error::not_found("forget", "memory", id).into()),
        [scope] => Ok(scope.key()),
        several => {
            let keys: Vec<_> = several.iter().map(|scope| scope.key()).collect();
            let problem = format!("several memories have this id; name one of {}", keys.join(" "));
            Err(OperationError::invalid("scope", problem))
        }
    }
}

async fn fork(operations: &Operations, asked: Fork) -> Done {
    let Fork { chat, message, to } = asked;
    if to.is_empty() {
        return Err(OperationError::invalid("to", "the new chat needs a name"));
    }
    limits::check_id("fork", "chat", &to)
        .map_err(|error| OperationError::invalid("to", error.to_string()))?;
    let message = match message {
        Some(message) => operations.numbered_message(&chat, None, &message).await?.node.id.clone(),
        None => operations.newest_message(&chat).await?,
    };
    match operations.act(&chat, Action::Fork { message, to: to.clone() }).await {
        Ok(done) => Ok(text(done.text)),
        Err(OperationError::Store(error)) if !error.is_not_found() => {
            // An unfinished fork of this name is replaced, so the name is not looked at before.
            match operations.chat_with_branches(&to).await {
                Ok(_) => {
                    let problem = format!("there is a chat {to:?} already; choose another name");
                    Err(OperationError::invalid("to", problem))
                }
                Err(_) => Err(error.into()),
            }
        }
        Err(error) => Err(error),
    }
}

async fn context_status(operations: &Operations, asked: ContextStatus) -> Done {
    operations.known_branch(&asked.chat, asked.branch.as_deref()).await?;
    check_window(&asked.model, asked.window)?;
    let settings = TurnSettings {
        model: asked.model,
        window: asked.window,
        branch: asked.branch,
        ..TurnSettings::default()
    };
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
    operations.known_branch(&asked.chat, asked.branch.as_deref()).await?;
    check_window(&asked.model, asked.window)?;
    let action = Action::Compact {
        branch: asked.branch,
        policies: Operations::compactable().map(ToOwned::to_owned).collect(),
        model: asked.model,
        window: asked.window,
    };
    let done = operations.act(&asked.chat, action).await?;
    Ok(text(match done.text.strip_suffix(CAN_BE_UNDONE) {
        Some(compacted) => {
            format!("{compacted} `context compact --undo -- {}` takes it back.", asked.chat)
        }
        None => done.text,
    }))
}

fn check_query(query: &str) -> Result<(), OperationError> {
    match query.trim() {
        "" => Err(OperationError::invalid("query", "the query is empty")),
        _ => Ok(()),
    }
}

/// Refuses a model whose window nobody named.
fn check_window(model: &str, window: Option<u64>) -> Result<(), OperationError> {
    if window.is_some() || ModelTable::builtin().model(model).window().is_some() {
        return Ok(());
    }
    let problem = format!("the window of {model:?} is not known; pass `window`, in tokens");
    Err(OperationError::invalid("model", problem))
}

/// Says what to do about a cursor that a listing refused.
fn of_cursor(error: OperationError, after: Option<&str>) -> OperationError {
    match &error {
        OperationError::Store(cause) if after.is_some() && cause.kind() == ErrorKind::Invalid => {
            OperationError::invalid("after", format!("{cause}; begin without `after`"))
        }
        _ => error,
    }
}

/// Returns a text on one line.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn dots(is_cut: bool) -> &'static str {
    if is_cut { "…" } else { "" }
}
