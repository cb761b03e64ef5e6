//! Judging a reply: whether it is an answer.

use context_core::model::{ModelErrorCode, StopReason};
use context_core::{Answer, Json, Message, ModelError, Part, Role};

use super::{ModelCall, cache_lost, cost_usd};

/// The state of a call.
#[derive(Debug)]
pub(super) enum State {
    /// A request may be prepared.
    Ready,
    /// The provider refused.
    Failed(Box<ModelError>),
    /// The answer is unusable: it has no usable part.
    Unusable(Box<Answer>),
    /// The answer broke off after a usable part.
    Broken(Box<Answer>, Box<ModelError>),
    /// The answer was cut off at the output limit.
    CutOff(Box<Answer>),
    /// The call is answered.
    Answered(Box<Answer>),
    /// The call ended with an error.
    Over,
}

impl State {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Failed(_) => "failed",
            Self::Unusable(_) => "unusable",
            Self::Broken(..) => "broken",
            Self::CutOff(_) => "cut_off",
            Self::Answered(_) => "answered",
            Self::Over => "over",
        }
    }

    pub(super) fn answer(&self) -> Option<&Answer> {
        match self {
            Self::Answered(answer) => Some(answer),
            _ => None,
        }
    }

    pub(super) fn into_answer(self) -> Option<Answer> {
        match self {
            Self::Answered(answer) => Some(*answer),
            _ => None,
        }
    }
}

impl ModelCall<'_> {
    /// Takes the reply to the newest request: the answer, or the error instead. The next
    /// [`next`](Self::next) acts on it.
    pub fn answered(&mut self, reply: Result<Answer, ModelError>) {
        self.stream = None;
        if matches!(self.state, State::Answered(_) | State::Over) {
            return;
        }
        let usage = reply.as_ref().ok().and_then(|answer| answer.usage);
        self.state = match reply {
            Err(error) => State::Failed(Box::new(error)),
            Ok(answer) => self.judged(answer),
        };
        if let Some(begun) = self.begun.take() {
            let error = match &self.state {
                State::Failed(error) | State::Broken(_, error) => Some(error.code),
                _ => None,
            };
            let cost = usage.and_then(|usage| cost_usd(self.model(), &usage));
            begun.replied(usage, cost, error);
        }
    }

    /// Takes the reply as an HTTP response: its status and body.
    pub fn received(&mut self, status: u16, body: &str) {
        let answer = match status {
            400.. => failed(self.codec.lift_error(Some(status), body)),
            _ => self.read(status, body),
        };
        self.answered(Ok(answer));
    }

    fn read(&self, status: u16, body: &str) -> Answer {
        let Ok(json) = Json::from_text(body) else {
            return failed(self.codec.lift_error(Some(status), body));
        };
        self.codec.lift_answer(&json).unwrap_or_else(|error| {
            let mut error =
                ModelError::new(self.codec.name(), ModelErrorCode::Unknown, error.to_string());
            error.status = Some(status);
            failed(error)
        })
    }

    /// Returns the error of an answer that ended before it was complete.
    pub(super) fn broken_off(&self) -> ModelError {
        let text = "the answer ended before it was complete";
        ModelError::new(self.codec.name(), ModelErrorCode::Network, text)
    }

    fn judged(&mut self, mut answer: Answer) -> State {
        if let Some(usage) = &answer.usage {
            let cost = cost_usd(self.model(), usage);
            self.record.spend(usage, cost);
        }
        let says = answer.message.parts.iter().any(says_something);
        if let Some(error) = answer.error.take() {
            let error = Box::new(error);
            return match says && error.retryable {
                true => State::Broken(Box::new(answer), error),
                false => State::Failed(error),
            };
        }
        if let (Some(usage), Some(sent)) = (&answer.usage, self.record.sent) {
            self.record.cache_lost += cache_lost(self.model(), sent.reused, usage);
            self.runtime.observe_usage(&self.input.turn.chat, usage);
        }
        let refused = matches!(answer.stop, Some(StopReason::Refusal | StopReason::ContentFilter));
        let answer = Box::new(answer);
        match answer.stop {
            // The window was full before any content: handled as an overflow of the request.
            Some(StopReason::ContextWindow) if !says => {
                let provider = self.codec.name();
                let words = "the window was full before the answer began";
                State::Failed(Box::new(ModelError::new(
                    provider,
                    ModelErrorCode::ContextOverflow,
                    words,
                )))
            }
            Some(StopReason::Length) if self.grown_output().is_some() => State::CutOff(answer),
            _ if refused => State::Answered(answer),
            _ if !says => State::Unusable(answer),
            _ if !answer.complete => State::Broken(answer, Box::new(self.broken_off())),
            _ => State::Answered(answer),
        }
    }
}

/// Returns an answer that carries an error.
fn failed(error: ModelError) -> Answer {
    let mut answer = Answer::new(Message::new(Role::Assistant, []));
    answer.error = Some(error);
    answer
}

/// Whether a part is usable content. Reasoning alone is not.
fn says_something(part: &Part) -> bool {
    match part {
        Part::Text(text) => !text.text.is_blank(),
        Part::Reasoning(_) => false,
        _ => true,
    }
}
