//! Faults that are planted to show that each invariant is checked.

use std::sync::Arc;

use context_runtime::model::{
    AnswerStream, LiftedRequest, LoweredRequest, MessageCodec, ModelCodec, ModelError,
    ModelRequest, WireError,
};
use context_runtime::{Json, Message, Role};

/// A fault of the library under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
#[non_exhaustive]
pub enum PlantedDefect {
    /// A request has a rule broken: its roles are unknown ones.
    BreaksRules,
    /// A long request is sent with much more text.
    Overfills,
    /// The first request of a conversation is left out.
    DropsFirst,
    /// The newest request is left out once there are tool results.
    DropsNewest,
    /// A word of another user is in a request.
    Leaks,
    /// Each request begins with another text.
    ChangesPrefix,
    /// The output of an answer is reported twice.
    Overcharges,
    /// The store loses the newest message of a turn.
    LosesMessages,
    /// An erasure deletes chats alone.
    ErasesChatsOnly,
    /// Rounds are opened and never closed.
    KeepsRoundsOpen,
    /// A round is stored whose head names a node that there is not.
    DamagesRounds,
    /// The store refuses a commit that nobody planned to fail.
    FailsUnplanned,
}

/// A codec with a planted fault.
#[derive(Debug)]
pub(crate) struct PlantedCodec {
    inner: Arc<dyn ModelCodec>,
    planted: PlantedDefect,
    requests: std::sync::atomic::AtomicU64,
}

impl PlantedCodec {
    pub(crate) fn around(
        inner: Arc<dyn ModelCodec>,
        planted: PlantedDefect,
    ) -> Arc<dyn ModelCodec> {
        Arc::new(Self { inner, planted, requests: 0.into() })
    }

    fn change(&self, request: &mut ModelRequest) {
        let requests: Vec<_> = (0..request.messages.len())
            .filter(|at| request.messages.get(*at).is_some_and(|message| message.is_request()))
            .collect();
        let mut messages = request.messages.to_vec();
        match self.planted {
            PlantedDefect::DropsFirst if requests.len() > 2 => {
                messages.remove(requests[0]);
            }
            PlantedDefect::DropsNewest if messages.last().is_some_and(|m| m.role == Role::Tool) => {
                if let Some(newest) = requests.last().filter(|_| requests.len() > 1) {
                    messages.remove(*newest);
                }
            }
            PlantedDefect::Leaks if requests.len() > 1 => {
                let own = messages
                    .iter()
                    .find_map(|message| crate::marker::markers(&message.readable_text()).next());
                if let Some(mut other) = own {
                    other.user = (other.user + 1) % crate::scene::USERS.len();
                    let text = format!("They also asked about {other}.");
                    messages.insert(0, Arc::new(Message::from(text.as_str())));
                }
            }
            PlantedDefect::Overfills if messages.len() > 3 => {
                messages.insert(0, Arc::new(Message::from("much ".repeat(9_000).as_str())));
            }
            PlantedDefect::ChangesPrefix => {
                let number = self.requests.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                messages.insert(0, Arc::new(Message::from(format!("This is {number}.").as_str())));
            }
            _ => return,
        }
        request.messages = messages.into_iter().collect();
    }
}

impl MessageCodec for PlantedCodec {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn lower(&self, request: &ModelRequest) -> Result<LoweredRequest, WireError> {
        let mut request = request.clone();
        self.change(&mut request);
        let mut lowered = self.inner.lower(&request)?;
        if self.planted == PlantedDefect::BreaksRules && request.messages.len() > 3 {
            let body = lowered.body.as_str().replace(r#""role":"user""#, r#""role":"person""#);
            lowered.body = Json::from_text(body).unwrap_or_else(|_| lowered.body.clone());
        }
        Ok(lowered)
    }

    fn lower_source(&self, request: &ModelRequest) -> LoweredRequest {
        self.inner.lower_source(request)
    }

    fn lift(&self, body: &Json) -> Result<LiftedRequest, WireError> {
        self.inner.lift(body)
    }
}

impl ModelCodec for PlantedCodec {
    fn lift_answer(&self, body: &Json) -> Result<context_runtime::model::Answer, WireError> {
        let mut answer = self.inner.lift_answer(body)?;
        if let Some(usage) = &mut answer.usage
            && self.planted == PlantedDefect::Overcharges
        {
            usage.output *= 2;
        }
        Ok(answer)
    }

    fn answer_stream(&self) -> Box<dyn AnswerStream> {
        self.inner.answer_stream()
    }

    fn lift_error(&self, status: Option<u16>, body: &str) -> ModelError {
        self.inner.lift_error(status, body)
    }
}
