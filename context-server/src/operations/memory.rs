//! What is remembered of a user, and what would be recalled.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use context_runtime::memory::{
    Blocks, CapturedMessage, CapturedTurn, Episodic, Facts, MEMORY_USE, MemoryProvider,
    MemoryScope, ProviderChain, QUARANTINE, RecallQuery, ScopeLevel, Trust,
};
use context_runtime::store::{
    Cursor, MemoryForget, MemoryId, MemoryList, MemoryRecordStore, MemorySource, PageWalk,
};
use context_runtime::tokens::{ModelTable, TokenCounter};
use context_runtime::{CancelSignal, Diagnostic, Message, Role, Timestamp, limits};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::Operations;
use crate::OperationError;

/// The number of memories in a page.
const PAGE: usize = 50;
/// The model whose counter is used.
const MODEL: &str = "claude-sonnet-4-5";
/// The most tokens of a recall, as a turn has them unless it names others.
const RECALL_TOKENS: u64 = 2_000;

/// The session of texts that belong to none.
const SESSION: &str = "api";

/// A page of what is remembered.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[non_exhaustive]
pub struct MemoryPage {
    /// The scopes that have memories, with their number.
    pub scopes: Vec<MemoryScopeSize>,
    /// The number of scopes that the list does not look into, because there are too many.
    pub unseen_scopes: usize,
    /// The memories, newest first.
    pub memories: Vec<MemoryEntry>,
    /// The cursor of the next page. `None` on the last page.
    pub next: Option<String>,
}

/// A scope with memories.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[non_exhaustive]
pub struct MemoryScopeSize {
    /// The scope.
    #[schema(value_type = HashMap<String, Value>)]
    pub scope: MemoryScope,
    /// Its name in addresses.
    pub key: String,
    /// The number of its memories.
    pub memories: u64,
}

/// A memory.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[non_exhaustive]
pub struct MemoryEntry {
    /// The scope.
    #[schema(value_type = Option<HashMap<String, Value>>)]
    pub scope: Option<MemoryScope>,
    /// The id in the scope.
    pub id: Option<String>,
    /// The kind: `episode`, `fact`, `block`, or one of an application.
    pub kind: String,
    /// The lookup key.
    pub key: Option<String>,
    /// The session or message that it came from.
    #[schema(value_type = Option<HashMap<String, Value>>)]
    pub source: Option<MemorySource>,
    /// The speaker.
    pub speaker: Option<String>,
    /// The time when it was said, in microseconds since 1970.
    #[schema(value_type = Option<i64>)]
    pub at: Option<Timestamp>,
    /// The text.
    pub text: String,
    /// The class of trust, if it is known.
    #[schema(value_type = Option<String>)]
    pub trust: Option<Trust>,
    /// The reason of its quarantine, if it is in one.
    pub quarantine: Option<String>,
    /// The newest uses in turns: session, turn, time. `None` in a recall.
    #[schema(value_type = Option<Vec<Vec<Value>>>)]
    pub uses: Option<Vec<(String, String, Timestamp)>>,
    /// The score, comparable only within one recall.
    pub score: Option<f64>,
    /// The tokens of the text.
    pub tokens: u64,
}

/// The memories that would be recalled.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[non_exhaustive]
pub struct MemoryRecall {
    /// The memories, best first.
    pub memories: Vec<MemoryEntry>,
    /// The tokens of their texts.
    pub tokens: u64,
    /// The most tokens that were asked for.
    pub max_tokens: u64,
    /// Facts about the recall, such as a kind of memory that could not be read.
    #[schema(value_type = Vec<HashMap<String, Value>>)]
    pub diagnostics: Vec<Diagnostic>,
}

/// A memory to forget.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[non_exhaustive]
pub struct ForgetMemory {
    /// The scope.
    #[schema(value_type = HashMap<String, Value>)]
    pub scope: MemoryScope,
    /// The id.
    pub id: String,
}

impl ForgetMemory {
    /// Creates the request for a memory of a scope, which is named by its key.
    pub fn named(scope: &str, id: impl Into<String>) -> Result<Self, OperationError> {
        Ok(Self { scope: scope_of_key(scope)?, id: id.into() })
    }
}

/// Returns the scope of a key.
fn scope_of_key(key: &str) -> Result<MemoryScope, OperationError> {
    type Parts = (String, Option<String>, Option<String>, Option<String>);
    let (user, project, agent, session): Parts = serde_json::from_str(key)
        .map_err(|_| OperationError::invalid("scope", "no scope has this name"))?;
    let mut scope = MemoryScope::new(user);
    (scope.project, scope.agent) = (project, agent);
    scope.session = session.map(Into::into);
    Ok(scope)
}

/// The outcome of forgetting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[non_exhaustive]
pub struct MemoryForgotten {
    /// The number of records that were removed.
    pub removed: u64,
    /// The number of records that a second read found.
    pub remaining: u64,
    /// Copies elsewhere, as sentences.
    pub notes: Vec<String>,
}

/// A text to remember.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct RememberText {
    /// The text, which is kept word for word.
    pub text: String,
    /// The speaker.
    pub speaker: Option<String>,
    /// The session that the text is from. Default: `api`.
    pub session: Option<String>,
}

impl RememberText {
    /// Creates the request for a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), speaker: None, session: None }
    }
}

/// The outcome of remembering.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[non_exhaustive]
pub struct MemoryRemembered {
    /// The id of the text in its session. The same text has the same id, and is kept once.
    pub id: String,
}

impl Operations {
    /// Remembers a text of the user, for recalls in later chats.
    pub async fn remember(
        &self,
        remember: RememberText,
    ) -> Result<MemoryRemembered, OperationError> {
        self.check_writable()?;
        self.memories()?;
        if remember.text.trim().is_empty() {
            return Err(OperationError::invalid("text", "there is nothing to remember"));
        }
        let message = Message::text(Role::User, remember.text);
        let session = remember.session.unwrap_or_else(|| SESSION.to_owned());
        limits::check_id("remember", "session", &session)?;
        let id = message.hash().to_string();
        let mut captured = CapturedMessage::new(id.as_str(), message).at(self.clock.now());
        captured.speaker = remember.speaker;
        let scope = MemoryScope::new(self.user.clone()).session(session);
        let turn = CapturedTurn::new(scope, "remember", self.clock.now(), vec![captured]);
        Episodic::new(Arc::clone(&self.store))?.capture(&turn, &CancelSignal::never()).await?;
        Ok(MemoryRemembered { id })
    }

    fn memories(&self) -> Result<&dyn MemoryRecordStore, OperationError> {
        self.store.memories().ok_or(OperationError::Missing { ability: "memories" })
    }

    /// Returns a scope by its name in addresses. `None` for all scopes.
    fn named_scope(&self, key: Option<&str>) -> Result<Option<MemoryScope>, OperationError> {
        let Some(key) = key.filter(|key| !key.is_empty()) else { return Ok(None) };
        let scope = scope_of_key(key)?;
        self.check_owner(scope.user.as_str())?;
        Ok(Some(scope))
    }

    /// Refuses scopes of other users.
    fn check_owner(&self, user: &str) -> Result<(), OperationError> {
        if user == self.user.as_str() {
            return Ok(());
        }
        Err(context_runtime::Error::not_found("memory", "scope", user).into())
    }

    /// Returns the scopes of the user that have memories.
    async fn memory_scopes(&self) -> Result<Vec<MemoryScopeSize>, OperationError> {
        let records = self.memories()?;
        let (mut scopes, mut after) = (Vec::new(), None::<Cursor>);
        let mut walk = PageWalk::new("memory_stats", "scope");
        loop {
            let page = records.memory_stats(&self.user, limits::MAX_PAGE, after.as_ref()).await?;
            let next = walk.next(&page)?;
            scopes.extend(page.items.into_iter().filter_map(|stats| {
                let own = stats.kinds.iter().filter(|(kind, _)| is_memory(kind));
                let memories = own.map(|(_, count)| count).sum();
                let key = stats.scope.key();
                (memories > 0).then_some(MemoryScopeSize { scope: stats.scope, key, memories })
            }));
            match next {
                Some(next) => after = Some(next),
                None => return Ok(scopes),
            }
        }
    }

    /// Returns a page of the memories of a scope, or of all scopes, newest first.
    pub async fn remembered(
        &self,
        scope: Option<&str>,
        after: Option<&str>,
    ) -> Result<MemoryPage, OperationError> {
        let records = self.memories()?;
        let scopes = self.memory_scopes().await?;
        let mut shown = match self.named_scope(scope)? {
            Some(scope) => vec![scope],
            None => scopes.iter().map(|size| size.scope.clone()).collect(),
        };
        let unseen_scopes = shown.len().saturating_sub(limits::MAX_MEMORY_SCOPES);
        shown.truncate(limits::MAX_MEMORY_SCOPES);
        let mut page = MemoryPage { scopes, unseen_scopes, memories: Vec::new(), next: None };
        if shown.is_empty() {
            return Ok(page);
        }
        let list = MemoryList::new(shown, PAGE).after(after.map(Cursor::new));
        let found = records.list_memories(&list).await?;
        page.next = found.next.map(|next| next.as_str().to_owned());
        let provider = Episodic::new(Arc::clone(&self.store))?;
        let review = provider.review();
        let mut quarantines = HashMap::new();
        let counter = ModelTable::builtin().model(MODEL).counter();
        for stored in found.items.into_iter().filter(|stored| is_memory(&stored.record.kind)) {
            let record = stored.record;
            let (mut quarantine, mut uses) = (None, Vec::new());
            if let Some(review) = review {
                let known = match quarantines.entry(record.scope.key()) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(new) => new.insert(review.quarantined(&record.scope).await?),
                };
                quarantine = known.iter().find(|it| it.takes(&record)).map(|it| it.reason.clone());
                for seen in review.uses(&record.scope, &record.id).await? {
                    uses.push((seen.session.to_string(), seen.turn, seen.at));
                }
            }
            page.memories.push(MemoryEntry {
                trust: record.trust(),
                tokens: counter.count(&record.text).tokens(),
                scope: Some(record.scope),
                id: Some(record.id.to_string()),
                kind: record.kind,
                key: record.key,
                source: record.source,
                speaker: record.speaker,
                at: Some(record.at),
                text: record.text,
                quarantine,
                uses: Some(uses),
                score: None,
            });
        }
        Ok(page)
    }

    /// Returns what the memories of this store would be recalled for a request: notes, then facts,
    /// then episodes, as a turn gets them. No model is called.
    pub async fn would_recall(
        &self,
        text: &str,
        scope: Option<&str>,
        max_tokens: Option<u64>,
    ) -> Result<MemoryRecall, OperationError> {
        self.memories()?;
        let scope = self.named_scope(scope)?;
        let scope = scope.unwrap_or_else(|| MemoryScope::new(self.user.clone()));
        let level = if scope.session.is_some() { ScopeLevel::Session } else { ScopeLevel::Agent };
        let store = || Arc::clone(&self.store);
        let chain = ProviderChain::new()
            .with("blocks", Blocks::new(store(), Arc::clone(&self.clock))?, 1)
            .with("facts", Facts::new(store(), Arc::clone(&self.clock))?, 1)
            .with("episodes", Episodic::new(store())?.scope_level(level), 2);
        let max_tokens = max_tokens.unwrap_or(RECALL_TOKENS);
        let query = RecallQuery::new(scope, text).max_tokens(max_tokens).at(self.clock.now());
        let recalled = chain.recall(&query, &CancelSignal::never()).await?;
        let counter = ModelTable::builtin().model(MODEL).counter();
        let memories = recalled.memories.into_iter().map(|memory| MemoryEntry {
            tokens: counter.count(&memory.text).tokens(),
            scope: memory.scope,
            id: memory.id.map(|id| id.to_string()),
            kind: memory.kind,
            key: None,
            source: memory.source,
            speaker: memory.speaker,
            at: memory.at,
            text: memory.text,
            trust: memory.trust,
            quarantine: None,
            uses: None,
            score: Some(memory.score),
        });
        let memories: Vec<_> = memories.collect();
        let tokens = memories.iter().map(|memory| memory.tokens).sum();
        Ok(MemoryRecall { memories, tokens, max_tokens, diagnostics: recalled.diagnostics })
    }

    /// Forgets a memory, and says what else holds a copy. Refused if the inspector is read-only.
    pub async fn forget(&self, forget: ForgetMemory) -> Result<MemoryForgotten, OperationError> {
        self.check_writable()?;
        self.check_owner(forget.scope.user.as_str())?;
        let records = self.memories()?;
        let id = MemoryId::from(forget.id.as_str());
        let stored = records.memories(&forget.scope, std::slice::from_ref(&id)).await?;
        let Some(stored) = stored.into_iter().next() else {
            return Err(context_runtime::Error::not_found("forget", "memory", &id).into());
        };
        let ids = MemoryForget::ids(forget.scope, [id]);
        // Facts know which records belong to the same fact, and forget only their own ids.
        let facts = Facts::new(Arc::clone(&self.store), Arc::clone(&self.clock))?;
        let done = facts.forget(&ids).await?.and(records.forget_memories(&ids).await?);
        let mut notes = Vec::new();
        if let Some(source) = stored.record.source {
            notes.extend(self.still_said(&source).await?);
            let scopes: Vec<_> =
                self.memory_scopes().await?.into_iter().map(|size| size.scope).collect();
            if let Some(scopes) = scopes.chunks(limits::MAX_MEMORY_SCOPES).next() {
                let mut list = MemoryList::new(scopes.to_vec(), limits::MAX_PAGE);
                list.source = Some(source);
                let others = records.list_memories(&list).await?.items;
                let others = others.iter().filter(|it| is_memory(&it.record.kind)).count();
                if others > 0 {
                    notes.push(format!("Other memories from the same source: {others}."));
                }
            }
        }
        notes.push("Requests that were sent, exports and backups keep their copies.".to_owned());
        Ok(MemoryForgotten { removed: done.removed, remaining: done.remaining, notes })
    }
}

impl Operations {
    /// Returns the scopes in which the user has a memory of this id.
    pub(crate) async fn scopes_of_memory(
        &self,
        id: &str,
    ) -> Result<Vec<MemoryScope>, OperationError> {
        let records = self.memories()?;
        limits::check_id("forget", "memory", id)?;
        let (ids, mut scopes) = ([MemoryId::from(id)], Vec::new());
        for MemoryScopeSize { scope, .. } in self.memory_scopes().await? {
            let found = records.memories(&scope, &ids).await?;
            if found.iter().any(|stored| is_memory(&stored.record.kind)) {
                scopes.push(scope);
            }
        }
        Ok(scopes)
    }

    /// Says where the source of a memory still has its text. `None` if the source is no chat of
    /// this store, but only a name, as for a text that was remembered by request.
    async fn still_said(&self, source: &MemorySource) -> Result<Option<String>, OperationError> {
        let session = &source.session;
        let chat = self.chat_ref(session.as_str());
        if self.history().chat(&chat).await?.is_none() {
            return Ok(None);
        }
        let Some(message) = &source.message else {
            return Ok(Some(format!("The session {session} still has what was said in it.")));
        };
        let found = self.history().messages(&chat, std::slice::from_ref(message)).await?;
        let text = "still has the text: redact it to remove it there.";
        let is_there = found.into_iter().any(|found| found.is_some());
        Ok(is_there.then(|| format!("The message {message} of {session} {text}")))
    }
}

/// Quarantines and uses are kept beside the memories, and are none.
fn is_memory(kind: &str) -> bool {
    kind != QUARANTINE && kind != MEMORY_USE
}
