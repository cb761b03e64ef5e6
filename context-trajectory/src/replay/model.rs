//! A model that gives the recorded answers.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use context_core::model::{LanguageModel, ModelErrorCode, StopReason, Usage};
use context_core::trajectory::TrajectoryNode;
use context_core::{
    Answer, CancelSignal, Message, ModelError, ModelRequest, Part, Role, ToolResult,
};

use super::calls::{is_answered, output_text};
use super::divergence::{Divergence, DivergenceKind};
use super::steps::{RecordedStep, Replay};

/// The name of the model, and the provider name in its errors.
const NAME: &str = "recorded";

/// A language model that gives the recorded answers, one model step per call.
///
/// Before answering, the model compares the part of the request after the last model message with
/// the record: the question, or the results of the calls, must be the recorded ones. Everything
/// before that, system prompts, and messages that no person wrote may differ, so histories may be
/// cut and compacted. A request that differs fails with [`ModelErrorCode::InvalidRequest`], and
/// [`divergence`](Self::divergence) tells what differs at which step. The step is not consumed.
/// This is for loops that make one request at a time: parallel branches are replayed one after the
/// other.
pub struct RecordedModel {
    replay: Replay,
    outputs: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The next step to give.
    next: usize,
    divergence: Option<Divergence>,
}

/// The content that a request must have after the last model message.
#[derive(Default)]
struct Expected<'a> {
    queries: Vec<&'a TrajectoryNode>,
    results: HashMap<String, &'a TrajectoryNode>,
}

impl RecordedModel {
    /// Creates a model that gives the answers of a replay.
    pub fn new(replay: &Replay) -> Self {
        Self { replay: replay.clone(), outputs: true, state: Mutex::default() }
    }

    /// Checks only that a result exists, not its content. For loops that format results in their
    /// own way.
    #[must_use]
    pub fn any_output(mut self) -> Self {
        self.outputs = false;
        self
    }

    /// Returns the first divergence from the record.
    pub fn divergence(&self) -> Option<Divergence> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).divergence.clone()
    }

    /// Returns whether every recorded answer was given.
    pub fn is_done(&self) -> bool {
        let next = self.state.lock().unwrap_or_else(PoisonError::into_inner).next;
        let left = self.replay.steps().iter().skip(next);
        !left.into_iter().any(|step| !matches!(step, RecordedStep::Query { .. }))
    }

    /// Returns the answer to a request, and its step.
    fn answer(&self, request: &ModelRequest, next: usize) -> Result<(Answer, usize), Divergence> {
        let steps = self.replay.steps();
        let mut expected = Expected::default();
        // The results that the request must contain are those of the last model step.
        if let Some(RecordedStep::Calls { calls, .. }) =
            next.checked_sub(1).and_then(|last| steps.get(last))
        {
            let answered = calls.iter().filter(|action| is_answered(action));
            expected.results =
                answered.map(|action| (self.replay.call_id(action), &**action)).collect();
        }
        let mut at = next;
        while let Some(RecordedStep::Query { query }) = steps.get(at) {
            expected.queries.push(query);
            at += 1;
        }
        let spoken = steps.get(at);
        let diverged = |kind| {
            let node = spoken.and_then(RecordedStep::node).map(|node| node.id);
            Divergence { step: spoken.map(|_| at), node, kind }
        };
        let model_message = spoken.and_then(|step| Some((step, self.replay.model_message(step)?)));
        let (step, message) = model_message.ok_or_else(|| diverged(DivergenceKind::Ended))?;
        self.compare(expected, request).map_err(diverged)?;
        Ok((answer(step, message), at))
    }

    fn compare(
        &self,
        mut expected: Expected<'_>,
        request: &ModelRequest,
    ) -> Result<(), DivergenceKind> {
        let since = request.messages.iter().rposition(|message| message.role == Role::Assistant);
        let new = &request.messages[since.map_or(0, |at| at + 1)..];
        let results = new.iter().flat_map(|message| &message.parts);
        for result in results.filter_map(as_result) {
            let call = result.call_id.clone();
            let Some(action) = expected.results.remove(&call) else {
                return Err(DivergenceKind::UnexpectedResult { call });
            };
            if self.outputs && text_of(&result.output) != output_text(action) {
                return Err(DivergenceKind::OtherResult { call });
            }
        }
        if let Some(call) = expected.results.into_keys().min() {
            return Err(DivergenceKind::MissingResult { call });
        }
        let mut queries = expected.queries.into_iter();
        for text in new.iter().filter_map(asks) {
            let Some(query) = queries.next() else { return Err(DivergenceKind::UnexpectedMessage) };
            if text != query.body.text("query") && text != query.body.text("raw_user_query") {
                return Err(DivergenceKind::OtherQuery);
            }
        }
        queries.next().map_or(Ok(()), |_| Err(DivergenceKind::OtherQuery))
    }
}

#[async_trait]
impl LanguageModel for RecordedModel {
    fn name(&self) -> &str {
        NAME
    }

    async fn complete(
        &self,
        request: &ModelRequest,
        _: &CancelSignal,
    ) -> Result<Answer, ModelError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match self.answer(request, state.next) {
            Ok((answer, step)) => {
                state.next = step + 1;
                Ok(answer)
            }
            Err(divergence) => {
                let error =
                    ModelError::new(NAME, ModelErrorCode::InvalidRequest, divergence.to_string());
                state.divergence.get_or_insert(divergence);
                Err(error)
            }
        }
    }
}

impl fmt::Debug for RecordedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut shown = f.debug_struct("RecordedModel");
        shown.field("steps", &self.replay.steps().len()).field("next", &state.next);
        shown.field("divergence", &state.divergence).finish()
    }
}

fn answer(step: &RecordedStep, message: Message) -> Answer {
    let calls = matches!(step, RecordedStep::Calls { calls, .. } if !calls.is_empty());
    let mut answer = Answer::new(message);
    answer.stop = Some(if calls { StopReason::ToolCalls } else { StopReason::Stop });
    if let Some(measures) =
        step.node().and_then(|node: &Arc<TrajectoryNode>| node.measures.as_deref())
    {
        answer.model = measures.model.as_deref().map(str::to_owned);
        if measures.input_tokens.is_some() || measures.output_tokens.is_some() {
            let mut usage = Usage::default();
            usage.cache_read = measures.cache_read_tokens.unwrap_or_default();
            usage.cache_write = measures.cache_write_tokens.unwrap_or_default();
            let input = measures.input_tokens.unwrap_or_default();
            usage.input = input.saturating_sub(usage.cache_read).saturating_sub(usage.cache_write);
            usage.output = measures.output_tokens.unwrap_or_default();
            usage.reasoning = measures.reasoning_tokens;
            answer.usage = Some(usage);
        }
    }
    answer
}

fn as_result(part: &Part) -> Option<&ToolResult> {
    match part {
        Part::ToolResult(result) => Some(result),
        _ => None,
    }
}

/// Returns the text of a message that a person wrote.
fn asks(message: &Arc<Message>) -> Option<String> {
    let person = message.role == Role::User && !message.is_synthetic();
    let text = if person { text_of(&message.parts) } else { String::new() };
    (!text.is_empty()).then_some(text)
}

/// Returns the concatenated texts of parts.
fn text_of(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect()
}
