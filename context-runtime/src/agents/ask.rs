//! Asking: the whole loop of a turn.

use std::pin::Pin;
use std::sync::Arc;

use context_core::model::AnswerDelta;
use context_core::{CancelSignal, ToolCall};
use futures_util::FutureExt;

use super::run_tools::{self, Approval, Approve};
use super::turn::Listener;
use super::{ToolFunction, Turn, TurnAnswer, TurnBuilder, TurnError, TurnLimits};
use crate::cancellable::unless_cancelled;

/// A question that is being asked. Made by [`AgentChat::ask`](crate::AgentChat::ask), and awaited.
///
/// ```
/// # use std::sync::Arc;
/// # use context_runtime::{Message, Role, CancelSignal};
/// # use context_runtime::model::{Answer, LanguageModel, ModelError, ModelRequest};
/// # #[derive(Debug)]
/// # struct Model;
/// # #[async_trait::async_trait]
/// # impl LanguageModel for Model {
/// #     fn name(&self) -> &str { "claude-sonnet-4-5" }
/// #     async fn complete(&self, _: &ModelRequest, _: &CancelSignal) -> Result<Answer, ModelError> {
/// #         Ok(Answer::new(Message::text(Role::Assistant, "At 10:05.")))
/// #     }
/// # }
/// use context_runtime::{Agents, tools};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// /// Finds trains on a day.
/// #[derive(Deserialize, JsonSchema)]
/// struct FindTrains {
///     day: String,
/// }
///
/// async fn find_trains(wanted: FindTrains) -> String {
///     format!("{}: 10:05", wanted.day)
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> context_runtime::Result<()> {
/// # let model = Arc::new(Model);
/// let agents = Agents::open("mem:").await?.client(model).build()?;
/// let mut chat = agents.chat("ada", "lisbon").await?;
/// let answer = chat
///     .ask("When does the train leave on Friday?")
///     .tools(tools![find_trains])
///     .on_text(|piece| print!("{piece}"))
///     .await?;
/// println!("\n{}", answer.report);
/// # assert_eq!(answer.text(), "At 10:05.");
/// # Ok(())
/// # }
/// ```
#[must_use = "a question is asked when it is awaited"]
pub struct Ask<'c> {
    turn: TurnBuilder<'c>,
    functions: Vec<ToolFunction>,
    listener: Option<Box<Listener<'c>>>,
    approve: Option<Box<Approve<'c>>>,
    concurrency: usize,
    cancel: CancelSignal,
}

impl<'c> Ask<'c> {
    pub(super) fn new(turn: TurnBuilder<'c>) -> Self {
        Self {
            turn,
            functions: Vec::new(),
            listener: None,
            approve: None,
            concurrency: 4,
            cancel: CancelSignal::never(),
        }
    }

    /// Adds tools that the model may call, and that run when it does.
    pub fn tools(mut self, tools: impl IntoIterator<Item = ToolFunction>) -> Self {
        let tools: Vec<_> = tools.into_iter().collect();
        self.turn = self.turn.tools(&tools);
        self.functions.extend(tools);
        self
    }

    /// Sets how many tools run at once. Default: 4; at least one. The model gets the results in the
    /// order of its calls.
    pub fn concurrency(mut self, tools: usize) -> Self {
        self.concurrency = tools;
        self
    }

    /// Streams the answer, and calls this with each piece of its text.
    pub fn on_text(self, mut listener: impl FnMut(&str) + Send + 'c) -> Self {
        self.on_delta(move |delta| {
            if let AnswerDelta::Text(text) = delta {
                listener(text);
            }
        })
    }

    /// Streams the answer, and calls this with each addition: text, reasoning, tool calls, and
    /// whether the answer begins anew.
    pub fn on_delta(mut self, listener: impl FnMut(&AnswerDelta) + Send + 'c) -> Self {
        self.listener = Some(Box::new(listener));
        self
    }

    /// Sets the hook that decides about each tool call before the tool runs, such as by asking a
    /// person. Default: every tool runs.
    pub fn approve<F>(mut self, hook: impl Fn(ToolCall) -> F + Send + Sync + 'c) -> Self
    where
        F: Future<Output = Approval> + Send + 'c,
    {
        self.approve = Some(Box::new(move |call| hook(call).boxed()));
        self
    }

    /// Sets the limits. Default: those of the agents.
    pub fn limits(mut self, limits: TurnLimits) -> Self {
        self.turn = self.turn.limits(limits);
        self
    }

    /// Sets the signal that cancels the turn, which then ends in order.
    pub fn cancel(mut self, signal: CancelSignal) -> Self {
        self.turn = self.turn.cancel(signal.clone());
        self.cancel = signal;
        self
    }

    /// Changes the turn: further settings of its calls.
    pub fn turn(mut self, change: impl FnOnce(TurnBuilder<'c>) -> TurnBuilder<'c>) -> Self {
        self.turn = change(self.turn);
        self
    }

    async fn run(mut self) -> Result<TurnAnswer, TurnError> {
        let agents = self.turn.chat().agents().clone();
        let model = agents.client()?;
        let mut turn = self.turn.begin().await?;
        while let Some(context) = turn.prepared().await? {
            let listener = self.listener.as_deref_mut();
            turn.ask(&**model, &context, listener).await?;
            run_calls(
                &mut turn,
                &self.functions,
                self.approve.as_deref(),
                self.concurrency,
                &self.cancel,
            )
            .await?;
        }
        turn.finish().await
    }
}

/// Runs the tools of the newest answer. The answer is stored before they run.
async fn run_calls(
    turn: &mut Turn<'_>,
    functions: &[ToolFunction],
    approve: Option<&Approve<'_>>,
    concurrency: usize,
    cancel: &CancelSignal,
) -> Result<(), TurnError> {
    if let Err(error) = turn.save_calls().await {
        return Err(turn.fail(error).await);
    }
    let calls = turn.tool_calls();
    if calls.is_empty() {
        return Ok(());
    }
    let fragments = turn.fragments();
    let with_context = |call: ToolCall| {
        let context = turn.tool_context(&call, Arc::clone(&fragments));
        (call, context)
    };
    let calls = calls.into_iter().map(with_context).collect();
    let running = run_tools::run(functions, approve, concurrency, calls);
    let running = tokio::time::timeout(turn.remaining(), running);
    match unless_cancelled(cancel, "turn", running).await {
        Ok(Ok(results)) => {
            results.into_iter().for_each(|result| turn.result(result));
            Ok(())
        }
        // The next `prepared` reports the limit.
        Ok(Err(_)) => Ok(()),
        Err(error) => Err(turn.fail(error.into()).await),
    }
}

impl<'c> IntoFuture for Ask<'c> {
    type Output = Result<TurnAnswer, TurnError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'c>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
