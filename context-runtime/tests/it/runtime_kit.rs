//! Helpers for the tests of runtimes: one token per byte, simple policies, and a clock that stands
//! still.

use context_runtime::Origin;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use context_runtime::{
    CancelSignal, ContextRuntime, DefaultContextRuntime, DefaultContextRuntimeBuilder, Error,
    ErrorKind, JsonString, Message, ModelContext, Part, PrepareInput, Result, Role,
    compaction::{
        BoundaryKind, CompactionPolicy, Edit, Goal, HistoryView, Plan, PolicyKind, Proposal,
    },
    memory::{CapturedTurn, MemoryProvider, RecallQuery, Recalled},
    model::{Answer, ModelRequest, SummaryError, SummaryTask, TokenCount, TokenCounter},
    store::{MemoriesForgotten, MemoryForget},
};

pub(crate) use crate::kit::HandClock;

/// Counts one token per byte.
#[derive(Debug)]
pub(crate) struct ByteCounter;

impl TokenCounter for ByteCounter {
    fn name(&self) -> &str {
        "bytes"
    }

    fn count(&self, text: &str) -> TokenCount {
        TokenCount::exact(text.len() as u64)
    }
}

/// Returns a builder with a thousand tokens and almost no reserve.
pub(crate) fn builder() -> DefaultContextRuntimeBuilder {
    DefaultContextRuntime::builder().window(1_010).reserve(10).counter(Arc::new(ByteCounter))
}

pub(crate) fn input(messages: &[Arc<Message>]) -> PrepareInput {
    PrepareInput::new(("ada", "s"), "t", "anthropic", "claude-sonnet-4-5")
        .messages(messages.iter().map(Arc::clone))
}

pub(crate) async fn prepare(
    runtime: &dyn ContextRuntime,
    messages: &[Arc<Message>],
) -> ModelContext {
    runtime.prepare_for_model(input(messages)).await.unwrap()
}

pub(crate) fn ask(text: &str) -> Arc<Message> {
    Arc::new(Message::from(text))
}

pub(crate) fn reply(text: &str) -> Arc<Message> {
    Arc::new(Message::text(Role::Assistant, text))
}

pub(crate) fn call(id: &str) -> Arc<Message> {
    Arc::new(Message::new(
        Role::Assistant,
        [Part::tool_call(id, "read_file", serde_json::json!({}))],
    ))
}

pub(crate) fn result(id: &str, text: impl Into<JsonString>) -> Arc<Message> {
    Arc::new(Message::new(Role::Tool, [Part::tool_result(id, text)]))
}

/// Returns each message in short form: its role, and its text, calls or results.
pub(crate) fn shown(messages: &[Arc<Message>]) -> Vec<String> {
    let part = |part: &Part| match part {
        Part::Text(text) => text.text.clone(),
        Part::ToolCall(call) => format!("call {}", call.id).into(),
        Part::ToolResult(result) => format!("result {}", result.call_id).into(),
        _ => "other".into(),
    };
    let shown = |message: &Arc<Message>| {
        format!(
            "{}: {}",
            message.role,
            message.parts.iter().map(part).collect::<Vec<_>>().join(" + ")
        )
    };
    messages.iter().map(shown).collect()
}

pub(crate) fn codes(context: &ModelContext) -> Vec<&str> {
    context.diagnostics.iter().map(|diagnostic| diagnostic.code.as_str()).collect()
}

/// Shortens tool results over 50 bytes to 10, all but the newest.
#[derive(Debug)]
pub(crate) struct ShorteningPolicy;

impl CompactionPolicy for ShorteningPolicy {
    fn name(&self) -> &'static str {
        "microcompact"
    }

    fn kind(&self) -> PolicyKind {
        PolicyKind::Shorten
    }

    fn plan(&self, view: &HistoryView<'_>, _goal: &Goal) -> Proposal {
        let results: Vec<_> = (0..view.messages().len())
            .filter(|at| view.messages()[*at].role == Role::Tool)
            .collect();
        let old = results.iter().rev().skip(1).rev();
        let edits: Vec<_> = old
            .filter(|at| view.tokens(**at) > 50)
            .filter_map(|at| match &view.messages()[*at].parts[0] {
                Part::ToolResult(result) => {
                    let short = Part::tool_result(result.call_id.clone(), "0123456789");
                    Some(Edit::replace(*at, Message::new(Role::Tool, [short])))
                }
                _ => None,
            })
            .collect();
        let what = format!("{} results", edits.len());
        match Plan::new(self.name(), BoundaryKind::Microcompact, view, edits, what) {
            Ok(plan) => Proposal::Plan(plan),
            Err(error) => Proposal::nothing(error.to_string()),
        }
    }
}

/// Leaves out one assistant message at a time.
#[derive(Debug)]
pub(crate) struct SingleRemovalPolicy;

impl CompactionPolicy for SingleRemovalPolicy {
    fn name(&self) -> &'static str {
        "nibble"
    }

    fn plan(&self, view: &HistoryView<'_>, _goal: &Goal) -> Proposal {
        let says = |at: &usize| matches!(view.messages()[*at].parts.as_slice(), [Part::Text(_)]);
        let mut assistant = (0..view.messages().len())
            .filter(|at| view.messages()[*at].role == Role::Assistant)
            .filter(says);
        let Some(at) = assistant.next() else { return Proposal::nothing("nobody spoke") };
        match Plan::new(
            self.name(),
            BoundaryKind::Snip,
            view,
            vec![Edit::remove(at..at + 1)],
            "a reply",
        ) {
            Ok(plan) => Proposal::Plan(plan),
            Err(error) => Proposal::nothing(error.to_string()),
        }
    }
}

/// Replaces everything but the first message and the newest five by a summary.
#[derive(Debug)]
pub(crate) struct SummaryPolicy;

impl CompactionPolicy for SummaryPolicy {
    fn name(&self) -> &'static str {
        "summarize"
    }

    fn kind(&self) -> PolicyKind {
        PolicyKind::Summarize
    }

    fn plan(&self, view: &HistoryView<'_>, _goal: &Goal) -> Proposal {
        let end = view.messages().len().saturating_sub(5);
        if end <= 1 {
            return Proposal::nothing("too short");
        }
        let request = ModelRequest::new(view.messages()[..end].iter().map(Arc::clone));
        let task = SummaryTask::new(self.name(), request, 0..end, view.tokens_of(0..end));
        Proposal::Summary(Box::new(task.made_for(view)))
    }

    fn accept(
        &self,
        view: &HistoryView<'_>,
        task: &SummaryTask,
        answer: &Answer,
    ) -> std::result::Result<Plan, SummaryError> {
        if !answer.complete {
            return Err(SummaryError::CutOff);
        }
        let checkpoint = Message::text(Role::User, answer.message.plain_text());
        let checkpoint = Arc::new(checkpoint.with_origin(Origin::Checkpoint));
        // The first request stays the very same message.
        let edits = vec![Edit::new(0..0, vec![checkpoint]), Edit::remove(1..task.covers.end)];
        Ok(Plan::new(self.name(), BoundaryKind::Compact, view, edits, "a summary")?)
    }
}

/// A memory that returns the same each time, and counts.
#[derive(Debug, Default)]
pub(crate) struct FixedMemory {
    pub(crate) says: Mutex<Option<String>>,
    pub(crate) fails: bool,
    pub(crate) hangs: bool,
    pub(crate) queries: Mutex<Vec<String>>,
    pub(crate) captured: Mutex<Vec<Vec<String>>>,
}

impl FixedMemory {
    pub(crate) fn saying(text: &str) -> Arc<Self> {
        Arc::new(Self { says: Mutex::new(Some(text.to_owned())), ..Self::default() })
    }
}

#[async_trait]
impl MemoryProvider for FixedMemory {
    async fn recall(&self, query: &RecallQuery, _cancel: &CancelSignal) -> Result<Recalled> {
        self.queries.lock().unwrap().push(query.text.clone());
        if self.hangs {
            std::future::pending::<()>().await;
        }
        if self.fails {
            return Err(Error::new(ErrorKind::Unavailable, "recall", "the notes are gone"));
        }
        let says = self.says.lock().unwrap().clone();
        Ok(says.map(Recalled::text).unwrap_or_default())
    }

    async fn capture(&self, turn: &CapturedTurn, _cancel: &CancelSignal) -> Result<()> {
        if self.fails {
            return Err(Error::new(ErrorKind::Unavailable, "capture", "the notes are gone"));
        }
        let messages: Vec<_> = turn.messages.iter().map(|said| Arc::clone(&said.message)).collect();
        self.captured.lock().unwrap().push(shown(&messages));
        Ok(())
    }

    async fn forget(&self, _forget: &MemoryForget) -> Result<MemoriesForgotten> {
        Ok(MemoriesForgotten::default())
    }
}
