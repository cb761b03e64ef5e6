//! Recording chat messages.

use std::sync::Arc;

use context_core::base::limits;
use context_core::message::ToolInput;
use context_core::trajectory::{Changes, Measures, MessageLink, NewQuery, NodeId};
use context_core::{Json, Message, Part, Role, ToolCall, ToolResult};

use crate::{OpenRound, RecordError, RecordedMessage, Step, StepCall};

/// The error of an action whose parameters are not valid JSON, until it gets a result.
const NO_JSON: &str = "the params are not JSON";

impl OpenRound {
    /// Records a message with [`ask`](Self::ask), [`step`](Self::step) and
    /// [`tool_result`](Self::tool_result). A user request becomes a question, a model answer a step
    /// with its calls, and each tool result goes to its call. System messages, reminders and
    /// checkpoints are not recorded.
    ///
    /// An [`Answer`](context_core::Answer) is recorded with its model and usage. A
    /// [`RecordedMessage`] adds times, cost, provider and the message of the chat.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> context_core::Result<()> {
    /// use std::sync::Arc;
    ///
    /// use context_core::{Answer, Message, Part, Role};
    /// use context_core::model::Usage;
    /// use context_core::trajectory::AgentRef;
    /// use context_store_inmem::InMemoryStore;
    /// use context_trajectory::{RecordedMessage, Trajectories};
    ///
    /// let trajectories = Trajectories::new(Arc::new(InMemoryStore::default()))?;
    /// let round = trajectories.begin(&AgentRef::main("ada", "trip")).await?;
    ///
    /// let call = Part::tool_call("call_1", "weather", serde_json::json!({"month": 3}));
    /// let looks = Message::new(Role::Assistant, [Part::text("I look it up."), call]);
    /// let found = Message::tool(looks.tool_calls().map(|call| call.result("Warm on Madeira.")));
    /// round.record(&Message::from("Where is it warm in March?")).await?;
    /// round.record(&looks).await?;
    /// round.record(&found).await?;
    /// let mut answer = Answer::new(Message::text(Role::Assistant, "On Madeira."));
    /// answer.usage = Some(Usage::new(120, 8));
    /// round.record(RecordedMessage::of_answer(&answer).link("trip", "m4").cost(0.0005)).await?;
    /// round.finish().await?;
    ///
    /// // A question, a conclusion with its action, an answer.
    /// assert_eq!(round.trajectory().await?.len(), 4);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn record<'m>(
        &self,
        message: impl Into<RecordedMessage<'m>>,
    ) -> Result<(), RecordError> {
        let RecordedMessage { message, link, measures, author } = message.into();
        if message.role == Role::Assistant
            && let Some(mut step) = step(message, link.as_ref())
        {
            step.measures = measures.clone();
            step.author = author.clone();
            self.step(step).await?;
        }
        // Providers without a tool role put tool results before the user's text.
        let none = Measures::default();
        let measures = if message.role == Role::Assistant { &none } else { &measures };
        for result in message.tool_results() {
            self.record_result(result, measures).await?;
        }
        if message.is_request() {
            let mut query = NewQuery::new(&*message.plain_text());
            query = link.into_iter().fold(query, NewQuery::message);
            query = author.into_iter().fold(query, NewQuery::author);
            self.ask(query).await?;
        }
        Ok(())
    }
}

impl OpenRound {
    /// Records the result of a tool for the most recent call with its id, with the measures of the
    /// tool, such as its times.
    pub async fn record_result(
        &self,
        result: &ToolResult,
        measures: &Measures,
    ) -> Result<NodeId, RecordError> {
        self.tool_result_with(&known_as(&result.call_id), of_result(result, measures)).await
    }

    /// Records a result like [`record_result`](Self::record_result), without waiting for the write.
    pub fn record_result_later(
        &self,
        result: &ToolResult,
        measures: &Measures,
    ) -> Result<NodeId, RecordError> {
        let action = self
            .action_of_call(&result.call_id)
            .ok_or_else(|| RecordError::UnknownCall { call: result.call_id.clone() })?;
        self.change_later(action, &of_result(result, measures))?;
        Ok(action)
    }
}

fn of_result(result: &ToolResult, measures: &Measures) -> Changes {
    let changes = Changes::new().set("output", output(result)).set("success", !result.is_error);
    if measures.is_empty() { changes } else { changes.measure(measures) }
}

impl Step {
    /// Creates the step of a model's message: its text, reasoning and calls.
    pub fn of_message(message: &Message) -> Self {
        let thoughts = message.parts.iter().filter_map(|part| match part {
            Part::Reasoning(thought) if !thought.text.is_empty() => Some(thought.text.as_str()),
            _ => None,
        });
        let reasoning = thoughts.collect::<Vec<_>>().join("\n");
        let step = Self::new(&*message.plain_text()).reasoning(reasoning);
        message.tool_calls().map(step_call).fold(step, Self::call)
    }
}

/// Returns the step of a model's message, linked to `link` if given, or `None` if the message is
/// empty.
pub(crate) fn step(message: &Message, link: Option<&MessageLink>) -> Option<Step> {
    let mut step = Step::of_message(message);
    step.messages.extend(link.cloned());
    step.calls.iter_mut().for_each(|call| call.messages.extend(link.cloned()));
    let says_nothing =
        step.content.is_empty() && step.reasoning.is_empty() && step.calls.is_empty();
    (!says_nothing).then_some(step)
}

fn step_call(call: &ToolCall) -> StepCall {
    let (id, name) = (known_as(&call.id), &*call.name);
    match &call.input {
        ToolInput::Json(params) => StepCall::new(id, name, params.clone()),
        ToolInput::Invalid(text) => StepCall::invalid(id, name, Json::from(&**text), NO_JSON),
    }
}

/// Returns the key of a call: its id, or the hash of the id if the id is too long for a label.
pub(crate) fn known_as(id: &str) -> Arc<str> {
    // Leaves room for a suffix such as `#2`.
    const LONGEST: usize = limits::MAX_ID_BYTES - 16;
    if id.len() <= LONGEST {
        id.into()
    } else {
        blake3::hash(id.as_bytes()).to_hex().as_str().into()
    }
}

/// Returns the output that a result gives an action.
pub(crate) fn output(result: &ToolResult) -> Json {
    match &result.output[..] {
        [] => Json::from(""),
        [Part::Text(text)] => Json::from(&text.text),
        parts => Json::from_serialize(parts).expect("parts have text keys and valid raw values"),
    }
}
