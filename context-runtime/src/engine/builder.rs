//! The builder of an engine.

use std::sync::Arc;

use context_core::base::limits;
use context_core::store::{ChatPatch, Created, Durability, NewChat};
use context_core::{
    BranchName, ChatId, ChatRef, Clock, CodecRegistry, Error, IdGenerator, Metadata, Renderer,
    Result, Store, UserId,
};

use super::captured_ids::CapturedIds;
use super::context::ContextFragments;
use super::decoded::DecodedMessages;
use super::loads::{DEFAULT_CONCURRENCY, Loads};
use super::opening::Opening;
use super::pending::PendingMessages;
use super::prompt::Prompt;
use super::standing::StandingPrompt;
use super::{ConflictPolicy, ContextEngine, Parts};
use crate::workspace::Workspace;
use crate::{SystemClock, Uuid7Ids};

/// Builds a [`ContextEngine`]. A store, a user and a chat are required. All other parts have
/// defaults.
#[derive(Clone)]
#[must_use]
pub struct ContextEngineBuilder {
    parts: Parts,
    user: Option<UserId>,
    chat: Option<ChatId>,
    branch: Option<BranchName>,
    metadata: Metadata,
    create: bool,
    read_ahead: bool,
    freeze: bool,
    workspace: Option<Workspace>,
}

impl ContextEngineBuilder {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        let parts = Parts {
            store,
            renderer: Arc::new(context_render::XmlRenderer::default()),
            codecs: Arc::new(CodecRegistry::default()),
            clock: Arc::new(SystemClock),
            ids: Arc::new(Uuid7Ids),
            conflict: ConflictPolicy::default(),
            durability: None,
            load_concurrency: DEFAULT_CONCURRENCY,
            cache: None,
        };
        Self {
            parts,
            user: None,
            chat: None,
            branch: None,
            metadata: Metadata::default(),
            create: true,
            read_ahead: false,
            freeze: false,
            workspace: None,
        }
    }

    /// Returns a builder with these parts, for an existing chat.
    pub(super) fn with_parts(parts: Parts, chat: &ChatRef) -> Self {
        let ChatRef { user, chat, .. } = chat.clone();
        let (user, chat, metadata) = (Some(user), Some(chat), Metadata::default());
        Self {
            parts,
            user,
            chat,
            branch: None,
            metadata,
            create: false,
            read_ahead: false,
            freeze: false,
            workspace: None,
        }
    }

    /// Sets the user who owns the chat. Required.
    pub fn user(mut self, user: impl Into<UserId>) -> Self {
        self.user = Some(user.into());
        self
    }

    /// Sets the chat. Required. A chat that does not exist is created.
    pub fn chat(mut self, chat: impl Into<ChatId>) -> Self {
        self.chat = Some(chat.into());
        self
    }

    /// Sets the branch to work on. Default: the chat's active branch. Name a branch to work
    /// independently of writers on the active one.
    pub fn branch(mut self, branch: impl Into<BranchName>) -> Self {
        self.branch = Some(branch.into());
        self
    }

    /// Sets metadata to merge into the chat's metadata at the top level. New values win. Default:
    /// none.
    pub fn metadata(mut self, metadata: impl Into<Metadata>) -> Self {
        self.metadata = metadata.into();
        self
    }

    /// Freezes the system prompt, so that the provider's prompt cache stays valid while fragments
    /// change. The first prompt that is resolved is sent with every request. What changes since is
    /// told once, in a [reminder](ContextEngine::remind) that the next save folds into the user's
    /// message or a tool result. The prompt is sent in full again after a compaction, after a
    /// change that is larger than half of it, and wherever a resolve shows a change that no message
    /// tells; it says then that earlier notes no longer hold. The chat's metadata keeps the frozen
    /// text for other processes if the record is at most 64 KiB, and the messages keep the notes,
    /// so content of a fragment that was unset stays there. Default: every request has the current
    /// prompt.
    pub fn freeze_prompt(mut self, freeze: bool) -> Self {
        self.freeze = freeze;
        self
    }

    /// Attaches a workspace: checkpoints take snapshots of its files, and moves bring them back.
    /// Default: none.
    pub fn workspace(mut self, workspace: Workspace) -> Self {
        self.workspace = Some(workspace);
        self
    }

    /// Refuses a chat that does not exist, instead of creating it. Default: the chat is created.
    /// For readers, which should not create chats.
    pub fn existing(mut self) -> Self {
        self.create = false;
        self
    }

    /// Reads what a model is shown together with the chat, in one journey where the
    /// [store](context_core::Store::open_chat) can, instead of with the first look at it. The first
    /// [resolve](ContextEngine::resolve) or [save](ContextEngine::save) then takes the branch as it
    /// was at opening; later ones look for what is new, as always, and so does the first one after
    /// [`lease`](ContextEngine::lease). A branch that does not exist is
    /// [`NotFound`](crate::ErrorKind::NotFound) at once. Default: messages are read on first use.
    /// For servers that open a chat for each request and use it at once.
    pub fn read_ahead(mut self) -> Self {
        self.read_ahead = true;
        self
    }

    /// Sets the renderer of [`ContextEngine::resolve`]. Default: XML, the format that models handle
    /// best.
    pub fn renderer(self, renderer: impl Renderer) -> Self {
        self.shared_renderer(Arc::new(renderer))
    }

    /// Sets a shared renderer, such as one chosen [by name](crate::renderer).
    pub fn shared_renderer(mut self, renderer: Arc<dyn Renderer>) -> Self {
        self.parts.renderer = renderer;
        self
    }

    /// Sets the codecs that write and read persisted context fragments, and those of messages.
    /// Default: the kinds of the builders. Add your own kinds if they are persisted. The engine
    /// also knows the codecs that are attached to the fragments set on it.
    pub fn codecs(mut self, codecs: CodecRegistry) -> Self {
        self.parts.codecs = Arc::new(codecs);
        self
    }

    /// Sets the clock. Default: the host's clock. Use a fixed one in tests.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.parts.clock = Arc::new(clock);
        self
    }

    /// Sets the generator of ids for messages without one. Default: UUIDs of version 7. Use a
    /// counter in tests.
    pub fn ids(mut self, ids: impl IdGenerator) -> Self {
        self.parts.ids = Arc::new(ids);
        self
    }

    /// Sets a clock and a generator of ids that other parts use too.
    pub fn shared_environment(mut self, clock: Arc<dyn Clock>, ids: Arc<dyn IdGenerator>) -> Self {
        (self.parts.clock, self.parts.ids) = (clock, ids);
        self
    }

    /// Sets what a save does when another writer moved the branch. Default:
    /// [graft](ConflictPolicy::Graft), which loses nothing. Use `Fail` where an answer is worthless
    /// after messages it has not seen.
    pub fn on_conflict(mut self, policy: ConflictPolicy) -> Self {
        self.parts.conflict = policy;
        self
    }

    /// Sets the durability that each commit of the engine asks for: saves, edits, pins and new
    /// branches. Default: as the store is configured. A save that asks for more than the store
    /// [can give](context_core::store::StoreInfo::strongest) is refused with a
    /// [`DurabilityRefusal`](context_core::store::DurabilityRefusal), and what is pending stays
    /// pending. Everything else that an engine writes, such as the chat itself and its metadata, is
    /// as durable as the store is configured.
    pub fn durability(mut self, durability: impl Into<Option<Durability>>) -> Self {
        self.parts.durability = durability.into();
        self
    }

    /// Sets how many loaders of lazy data run concurrently. Default: 8; at least one. Use fewer if
    /// the loaders query the same service.
    pub fn load_concurrency(mut self, loaders: usize) -> Self {
        self.parts.load_concurrency = loaders;
        self
    }

    /// Sets a cache of chains: the engine starts from the cached chain and stores what it reads
    /// there for the next engine. The cache must belong to the same store. Default: none. For
    /// servers that open a chat per request.
    #[cfg(feature = "cache")]
    pub fn cache(mut self, cache: &super::ChainCache) -> Self {
        self.parts.cache = Some(Arc::new(cache.clone()));
        self
    }

    /// Opens the chat: creates it if it does not exist, merges the metadata, and reads its
    /// persisted fragments. Messages are read on first use: those that a model is shown, and the
    /// rest of the branch once it is needed.
    pub async fn open(self) -> Result<ContextEngine> {
        const OPERATION: &str = "open_chat";
        let missing = |part| {
            Error::invalid(OPERATION, "an engine needs a user and a chat").with("missing", part)
        };
        let user = self.user.ok_or_else(|| missing("user"))?;
        let chat = ChatRef::new(user, self.chat.ok_or_else(|| missing("chat"))?);
        limits::check_chat(OPERATION, &chat)?;
        let parts = self.parts;
        if parts.cache.as_ref().is_some_and(|cache| !Arc::ptr_eq(cache.store(), &parts.store)) {
            return Err(Error::invalid(OPERATION, "the cache holds chains of another store"));
        }
        let history = parts.store.history();

        let mut opening = match self.read_ahead {
            true => parts.opening_ahead(&chat, self.branch.as_ref()).await?,
            false => parts.opening(&chat).await?,
        };
        if opening.is_none() && self.create {
            let metadata = self.metadata.clone();
            let new = NewChat { metadata, ..NewChat::new(chat.clone(), parts.clock.now()) };
            opening = match history.create_chat(new).await? {
                Created::New(chat) => Some(Opening::of_new(chat)),
                Created::Existing(_) => parts.opening(&chat).await?,
            };
        }
        let Opening { chat: stored, fragments, view } =
            opening.ok_or_else(|| Error::not_found(OPERATION, "chat", &chat.chat))?;
        if self.metadata.iter().any(|(key, value)| stored.metadata.get(key) != Some(value)) {
            let patch = ChatPatch { set: self.metadata, ..ChatPatch::default() };
            let _updated = history.update_chat(&chat, &patch, parts.clock.now()).await?;
        }
        let usage = super::chat::total_usage(&stored.metadata);
        let mut opened_with: Vec<_> = super::workspace::interrupted(&stored).into_iter().collect();
        let branch = self.branch.unwrap_or(stored.active);

        let mut persisted = Vec::new();
        for stored in fragments {
            persisted.push(parts.decode(stored, &mut opened_with)?);
        }
        Ok(ContextEngine {
            parts,
            chat,
            branch,
            fragments: ContextFragments::loaded(persisted),
            loads: Loads::default(),
            prompt: Prompt::default(),
            standing: self.freeze.then(|| StandingPrompt::read(&stored.metadata)),
            reminders: super::reminders::Reminders::default(),
            usage,
            pending: PendingMessages::default(),
            written_in: None,
            compaction: None,
            view,
            in_flight: None,
            lease: None,
            decoded: DecodedMessages::default(),
            opened_with,
            left_out: Vec::new(),
            captured: CapturedIds::default(),
            workspace: self.workspace,
        })
    }
}
