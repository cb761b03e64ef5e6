//! A conversation at a provider, as any set of policies has it.

use std::sync::Arc;

use context_runtime::tokens::TokenCounter;
use context_runtime::{
    Clock, ContextRuntime, DefaultContextRuntime, DefaultContextRuntimeBuilder, FunctionTool,
    Message, ModelContext, Part, PrepareInput, Role, Timestamp, Tool,
};

use super::provider::{MODEL, PROVIDER, Provider};

/// The user of every conversation.
pub(crate) const USER: &str = "ada";
/// The chat of every conversation.
pub(crate) const CHAT: &str = "s";

/// A clock that stands still, so that every run is the same.
#[derive(Debug)]
struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(0)
    }
}

/// A conversation: what is sent next, and where.
pub(crate) struct Chat {
    pub(crate) provider: Provider,
    pub(crate) runtime: DefaultContextRuntime,
    pub(crate) counter: Arc<dyn TokenCounter>,
    pub(crate) window: u64,
    pub(crate) system: Vec<String>,
    pub(crate) tools: Vec<FunctionTool>,
    /// The messages that the set of policies continues from.
    pub(crate) history: Vec<Arc<Message>>,
}

impl Chat {
    /// Builds the runtime of a set. Every set has the same room for answers, a twentieth of the
    /// window: the shares that others compact at assume that it is small.
    pub(crate) fn runtime(
        window: u64,
        counter: &Arc<dyn TokenCounter>,
    ) -> DefaultContextRuntimeBuilder {
        DefaultContextRuntime::builder()
            .window(window)
            .reserve(window / 20)
            .counter(Arc::clone(counter))
            .clock(FixedClock)
    }

    /// Prepares a request of the conversation: the system prompt, repairs and cache breakpoints.
    pub(crate) async fn prepare(&self) -> ModelContext {
        let mut input = PrepareInput::new((USER, CHAT), "t", PROVIDER, MODEL)
            .messages(self.history.iter().map(Arc::clone))
            .tools(self.tools.iter().cloned().map(Tool::from));
        input = self.system.iter().fold(input, PrepareInput::system);
        self.runtime.prepare_for_model(input).await.unwrap()
    }

    /// Asks for a summary by a request that continues a conversation, with its own cache
    /// breakpoints, and returns its text unless it was refused.
    pub(crate) async fn summarize_after(
        &mut self,
        system: &[String],
        messages: &[Arc<Message>],
    ) -> Option<String> {
        let mut input = PrepareInput::new((USER, "summaries"), "t", PROVIDER, MODEL)
            .messages(messages.iter().map(Arc::clone));
        input = system.iter().fold(input, PrepareInput::system);
        let request = self.runtime.prepare_for_model(input).await.unwrap().request;
        let answer = self.provider.summarize(&request)?;
        Some(answer.message.plain_text().into_owned())
    }

    /// Returns the tokens of the system prompt and of these messages.
    pub(crate) fn tokens(&self, messages: &[Arc<Message>]) -> u64 {
        let system: u64 = self.system.iter().map(|text| self.counter.count(text).tokens()).sum();
        let count = |message| self.counter.count_shared(message).tokens();
        system + messages.iter().map(count).sum::<u64>()
    }

    /// Returns the index behind the newest answer: what follows has not been answered.
    pub(crate) fn answered(&self) -> usize {
        let newest = self.history.iter().rposition(|message| message.role == Role::Assistant);
        newest.map_or(0, |at| at + 1)
    }
}

/// Whether a history can be cut in front of a message: results stay with their calls.
pub(crate) fn can_cut(history: &[Arc<Message>], at: usize) -> bool {
    history.get(at).is_none_or(|message| message.role != Role::Tool)
}

/// Returns a message whose texts of tool results are changed; `None` keeps a text.
pub(crate) fn with_results(
    message: &Arc<Message>,
    mut change: impl FnMut(&str) -> Option<String>,
) -> Arc<Message> {
    let mut changed = Message::clone(message);
    let mut any = false;
    for part in &mut changed.parts {
        let Part::ToolResult(result) = part else { continue };
        for part in &mut result.output {
            if let Part::Text(text) = part
                && let Some(short) = change(&text.text)
            {
                (text.text, any) = (short.into(), true);
            }
        }
    }
    if any { Arc::new(changed) } else { Arc::clone(message) }
}

/// Returns the beginning and the end of a text, `front` and `back` bytes, if it has more.
pub(crate) fn both_ends(text: &str, front: usize, back: usize, note: &str) -> Option<String> {
    (text.len() > front + back).then(|| {
        let end = text.ceil_char_boundary(text.len() - back);
        format!("{}\n{note}\n{}", &text[..text.floor_char_boundary(front)], &text[end..])
    })
}
