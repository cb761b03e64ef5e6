//! The whole conversation in a store, as history tools search it.

use std::sync::Arc;

use context_runtime::{ContextEngine, FunctionTool, HistoryTools, Message, Part, Store};

use super::chat::{CHAT, USER};
use super::facts::Fact;

pub(crate) struct Archive {
    store: Arc<dyn Store>,
    engine: ContextEngine,
    pending: Vec<Arc<Message>>,
    _folder: tempfile::TempDir,
}

impl Archive {
    pub(crate) async fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("chats.db").display());
        let store = context_runtime::open(&url).await.unwrap();
        let engine = ContextEngine::builder(Arc::clone(&store)).user(USER).chat(CHAT);
        let engine = engine.open().await.unwrap();
        Self { store, engine, pending: Vec::new(), _folder: folder }
    }

    /// Returns the store, for results that are spilled.
    pub(crate) fn store(&self) -> Arc<dyn Store> {
        Arc::clone(&self.store)
    }

    /// Returns the tools to offer.
    pub(crate) fn tools(&self) -> Vec<FunctionTool> {
        self.history_tools().tools()
    }

    fn history_tools(&self) -> HistoryTools<'_> {
        let chat = self.engine.chat_ref().clone();
        HistoryTools::new(&*self.store, chat, self.engine.branch().clone())
    }

    pub(crate) fn push(&mut self, message: Arc<Message>) {
        self.pending.push(message);
    }

    /// Whether one search for the words that a model has shows a fact.
    pub(crate) async fn finds(&mut self, fact: &Fact) -> bool {
        for message in self.pending.drain(..) {
            self.engine.set([Message::clone(&message)]);
        }
        self.engine.save().await.unwrap();
        let input = serde_json::json!({"words": fact.cue, "limit": 25});
        let Part::ToolCall(call) = Part::tool_call("search", HistoryTools::SEARCH, input) else {
            return false;
        };
        let result = self.history_tools().answer(&call).await;
        result.output.iter().any(|part| match part {
            Part::Text(text) => text.text.contains(&fact.value),
            _ => false,
        })
    }
}
