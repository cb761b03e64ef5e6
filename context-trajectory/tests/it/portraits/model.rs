//! A model with prepared answers that waits on demand and records its requests.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use context_core::model::LanguageModel;
use context_core::{Answer, CancelSignal, Message, ModelError, ModelRequest, Role};
use context_trajectory::portraits::ReadPreview;
use tokio::sync::Semaphore;

/// A model that answers "A portrait." by default.
#[derive(Debug)]
pub(super) struct FakeModel {
    pub(super) answers: Mutex<VecDeque<Result<Answer, ModelError>>>,
    pub(super) asked: Mutex<Vec<ModelRequest>>,
    /// Whether calls wait for the gate.
    pub(super) slow: AtomicBool,
    pub(super) gate: Semaphore,
    running: AtomicUsize,
    pub(super) most: AtomicUsize,
}

impl FakeModel {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            answers: Mutex::default(),
            asked: Mutex::default(),
            slow: AtomicBool::new(false),
            gate: Semaphore::new(0),
            running: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
        })
    }

    pub(super) fn then(&self, answer: Result<Answer, ModelError>) {
        self.answers.lock().unwrap().push_back(answer);
    }

    pub(super) fn calls(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    /// Returns the texts of the requests.
    pub(super) fn prompts(&self) -> Vec<String> {
        self.asked.lock().unwrap().iter().map(|asked| asked.messages[0].readable_text()).collect()
    }
}

pub(super) fn says(text: &str) -> Answer {
    Answer::new(Message::text(Role::Assistant, text))
}

#[async_trait]
impl LanguageModel for FakeModel {
    fn name(&self) -> &str {
        "painter"
    }

    async fn complete(
        &self,
        request: &ModelRequest,
        _: &CancelSignal,
    ) -> Result<Answer, ModelError> {
        self.asked.lock().unwrap().push(request.clone());
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(running, Ordering::SeqCst);
        if self.slow.load(Ordering::SeqCst) {
            self.gate.acquire().await.unwrap().forget();
        } else {
            tokio::task::yield_now().await;
        }
        self.running.fetch_sub(1, Ordering::SeqCst);
        let told = self.answers.lock().unwrap().pop_front();
        told.unwrap_or(Ok(says("A portrait.")))
    }
}

/// Files by path.
#[derive(Debug, Default)]
pub(super) struct Folder(pub(super) BTreeMap<String, Vec<u8>>);

impl Folder {
    pub(super) fn with(mut self, path: &str, content: impl Into<Vec<u8>>) -> Self {
        self.0.insert(path.to_owned(), content.into());
        self
    }
}

impl ReadPreview for Folder {
    fn read(&self, path: &Path, bytes: usize) -> io::Result<Vec<u8>> {
        let content = self.0.get(path.to_str().unwrap()).ok_or(io::ErrorKind::NotFound)?;
        Ok(content.iter().copied().take(bytes).collect())
    }
}
