//! Memories: remembering, recalling, forgetting. No model is needed.

use std::sync::Arc;

use context_runtime::memory::{
    Blocks, CapturedMessage, CapturedTurn, Episodic, Facts, MemoryProvider, MemoryScope,
    ProviderChain, RecallQuery, RecalledMemory, ScopeLevel, Trust,
};
use context_runtime::store::{
    BlobId, ChainEnd, MemoryForget, MemoryId, MemoryRecordStore, MemorySource, Window,
};
use context_runtime::{
    CancelSignal, ChatRef, Clock, Diagnostic, Error, Message, Result, Role, SystemClock, Timestamp,
};
use serde::Serialize;

use crate::json::Reply;
use crate::store::{StoreOperations, missing};

/// The messages that are captured at once.
const BATCH: usize = 200;
/// The session of texts that belong to none.
const NO_SESSION: &str = "python";

/// A memory that was recalled.
#[derive(Serialize)]
struct Recollection {
    kind: String,
    text: String,
    id: Option<MemoryId>,
    source: Option<MemorySource>,
    speaker: Option<String>,
    at: Option<Timestamp>,
    score: f64,
    trust: Option<Trust>,
}

impl From<RecalledMemory> for Recollection {
    fn from(memory: RecalledMemory) -> Self {
        let RecalledMemory { kind, text, id, source, speaker, at, score, trust, .. } = memory;
        Self { kind, text, id, source, speaker, at, score, trust }
    }
}

#[derive(Serialize)]
struct Recall {
    memories: Vec<Recollection>,
    diagnostics: Vec<Diagnostic>,
}

fn scope(
    user: String,
    project: Option<String>,
    agent: Option<String>,
    session: Option<String>,
) -> MemoryScope {
    let mut scope = MemoryScope::new(user);
    (scope.project, scope.agent, scope.session) = (project, agent, session.map(Into::into));
    scope
}

impl StoreOperations {
    fn memories(&self) -> Result<&dyn MemoryRecordStore> {
        self.backend.memories().ok_or_else(|| missing(&*self.backend, "memories"))
    }

    /// An episodic provider whose memories have exactly this scope.
    fn episodes(&self, scope: &MemoryScope) -> Result<Episodic> {
        let level = match scope.session {
            Some(_) => ScopeLevel::Session,
            None => ScopeLevel::Agent,
        };
        Ok(Episodic::new(Arc::clone(&self.backend))?.scope_level(level))
    }

    pub(crate) async fn remember(
        &self,
        user: String,
        text: String,
        speaker: Option<String>,
        project: Option<String>,
        agent: Option<String>,
        session: Option<String>,
    ) -> Result<Reply> {
        if text.trim().is_empty() {
            return Err(Error::invalid("remember", "there is no text to remember"));
        }
        self.memories()?;
        let scope = scope(user, project, agent, session);
        let now = SystemClock.now();
        // The same text is remembered once.
        let id = BlobId::of(text.as_bytes()).to_string();
        let mut message = CapturedMessage::new(id, Message::text(Role::User, text)).at(now);
        message.speaker = speaker;
        let episodes = self.episodes(&scope)?;
        let from = match scope.session {
            Some(_) => scope,
            None => scope.session(NO_SESSION),
        };
        let turn = CapturedTurn::new(from, "remember", now, vec![message]);
        episodes.capture(&turn, &CancelSignal::never()).await?;
        Ok(Reply::none())
    }

    pub(crate) async fn capture(
        &self,
        user: String,
        chat: String,
        branch: Option<String>,
        project: Option<String>,
        agent: Option<String>,
    ) -> Result<Reply> {
        self.memories()?;
        let scope = scope(user.clone(), project, agent, None);
        let (reference, history) = (ChatRef::new(user, chat.clone()), self.backend.history());
        let branch = match branch {
            Some(branch) => branch.into(),
            None => {
                let found = history.chat(&reference).await?;
                found.ok_or_else(|| Error::not_found("capture", "chat", &chat))?.active
            }
        };
        let chain = history.chain(&reference, &ChainEnd::Branch(branch), &Window::Whole).await?;
        let messages: Vec<_> = chain
            .iter()
            .filter_map(|node| {
                let message = Arc::clone(node.message().ok()?);
                Some(CapturedMessage::new(node.id.clone(), message).at(node.created_at))
            })
            .collect();
        let episodes = self.episodes(&scope)?;
        let (from, now) = (scope.session(chat), SystemClock.now());
        for batch in messages.chunks(BATCH) {
            let turn = CapturedTurn::new(from.clone(), "capture", now, batch.to_vec());
            episodes.capture(&turn, &CancelSignal::never()).await?;
        }
        Reply::json(&messages.len())
    }

    pub(crate) async fn recall(
        &self,
        user: String,
        text: String,
        limit: usize,
        max_tokens: Option<u64>,
        project: Option<String>,
        agent: Option<String>,
        session: Option<String>,
    ) -> Result<Reply> {
        self.memories()?;
        let scope = scope(user, project, agent, session);
        let (store, clock): (_, Arc<dyn Clock>) = (&self.backend, Arc::new(SystemClock));
        let chain = ProviderChain::new()
            .with("blocks", Blocks::new(Arc::clone(store), Arc::clone(&clock))?, 1)
            .with("facts", Facts::new(Arc::clone(store), clock)?, 1)
            .with("episodes", self.episodes(&scope)?.limit(limit), 2);
        let mut query = RecallQuery::new(scope, text).at(SystemClock.now());
        query.max_tokens = max_tokens;
        let mut recalled = chain.recall(&query, &CancelSignal::never()).await?;
        recalled.memories.truncate(limit);
        Reply::json(&Recall {
            memories: recalled.memories.into_iter().map(Recollection::from).collect(),
            diagnostics: recalled.diagnostics,
        })
    }

    pub(crate) async fn forget(
        &self,
        user: String,
        ids: Option<Vec<String>>,
        project: Option<String>,
        agent: Option<String>,
        session: Option<String>,
    ) -> Result<Reply> {
        let scope = scope(user, project, agent, session);
        let forget = match ids {
            Some(ids) => MemoryForget::ids(scope, ids),
            None => MemoryForget::Scope(scope),
        };
        Reply::json(&self.memories()?.forget_memories(&forget).await?)
    }
}
