//! Models that answer according to a script.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use context_runtime::{
    CancelSignal, Message, Role,
    model::{Answer, LanguageModel, ModelError, ModelErrorCode, ModelRequest, StopReason},
};

/// A model with scripted answers. The last one is repeated forever.
#[derive(Debug)]
pub(crate) struct ScriptedModel {
    script: Mutex<VecDeque<Result<Answer, ModelError>>>,
    asked: Mutex<Vec<ModelRequest>>,
}

impl ScriptedModel {
    pub(crate) fn new(script: impl IntoIterator<Item = Result<Answer, ModelError>>) -> Arc<Self> {
        let script = Mutex::new(script.into_iter().collect());
        Arc::new(Self { script, asked: Mutex::default() })
    }

    pub(crate) fn asked(&self) -> Vec<ModelRequest> {
        self.asked.lock().unwrap().clone()
    }
}

#[async_trait]
impl LanguageModel for ScriptedModel {
    fn name(&self) -> &str {
        "scripted"
    }

    async fn complete(
        &self,
        request: &ModelRequest,
        _: &CancelSignal,
    ) -> Result<Answer, ModelError> {
        self.asked.lock().unwrap().push(request.clone());
        let mut script = self.script.lock().unwrap();
        match script.len() {
            0 | 1 => script.front().cloned().unwrap(),
            _ => script.pop_front().unwrap(),
        }
    }
}

/// A model that never answers.
#[derive(Debug)]
pub(super) struct SilentModel;

#[async_trait]
impl LanguageModel for SilentModel {
    fn name(&self) -> &str {
        "silent"
    }

    async fn complete(
        &self,
        _: &ModelRequest,
        cancel: &CancelSignal,
    ) -> Result<Answer, ModelError> {
        cancel.cancelled().await;
        Err(ModelError::new("silent", ModelErrorCode::Unknown, "cancelled"))
    }
}

pub(crate) fn says(text: &str) -> Answer {
    let mut answer = Answer::new(Message::text(Role::Assistant, text));
    answer.stop = Some(StopReason::Stop);
    answer
}

pub(super) fn nothing() -> Answer {
    Answer::new(Message::new(Role::Assistant, []))
}

pub(super) fn broken(text: &str) -> Answer {
    let mut answer = Answer::new(Message::text(Role::Assistant, text));
    answer.complete = false;
    answer
}

pub(super) fn cut_off(text: &str) -> Answer {
    let mut answer = says(text);
    answer.stop = Some(StopReason::Length);
    answer
}

pub(super) fn error(code: ModelErrorCode) -> ModelError {
    ModelError::new("openai", code, "refused by the script")
}
