//! The engine: a handle on one chat of one user.
//!
//! A [`ContextEngine`] holds the fragments that were set but not saved, and what a model is shown
//! of its current branch. It reads and writes through a store and keeps what it has read, so a turn
//! only reads what is new. The engine calls no model, counts no tokens and cuts nothing. The
//! runtime does that.

mod as_of;
mod builder;
mod captured_ids;
#[cfg(feature = "cache")]
mod chain_cache;
mod chat;
mod compaction;
mod context;
mod curate;
mod decoded;
#[cfg(feature = "tokens")]
mod estimate;
mod fork;
mod inspection;
mod lease;
#[cfg(feature = "summarize")]
mod left_branch;
mod loads;
mod navigate;
mod new_commit;
mod opening;
mod pending;
mod pins;
mod prompt;
mod prompt_history;
mod reach;
mod reminders;
mod resolve;
mod save;
mod standing;
mod turn;
mod view;
mod workspace;

use std::fmt;
use std::sync::Arc;

pub use as_of::AsOf;
pub use builder::ContextEngineBuilder;
#[cfg(feature = "cache")]
pub use chain_cache::ChainCache;
pub use compaction::Compaction;
use context_core::base::{CommitKey, DiagnosticCode, FragmentId, Severity};
use context_core::fragment::FragmentContent;
use context_core::message::WrittenIn;
use context_core::store::{Durability, HistoryStore, Lease, StoredFragment};
use context_core::{
    BranchName, ChatRef, Clock, CodecRegistry, Diagnostic, Error, Fragment, IdGenerator, MessageId,
    Renderer, Result, Store,
};
pub use curate::{BranchDiff, CherryPicked};
pub use fork::ForkedFrom;
pub use inspection::{InspectedFragment, InspectedMessage, InspectedReminder, Inspection};
#[cfg(feature = "summarize")]
pub use left_branch::BranchSummary;
pub use navigate::Moved;
pub use prompt::{ChangeKind, FragmentChange, PromptChanges, PromptPiece, SystemPrompt};
pub use prompt_history::{PastPrompt, PromptHistory};
pub use resolve::{ResolveOptions, Resolved};
pub use save::{Edits, SaveOutcome, Saved};
pub use workspace::Checkpointed;

use self::captured_ids::CapturedIds;
use self::compaction::PendingCompaction;
use self::context::ContextFragments;
use self::decoded::DecodedMessages;
use self::loads::Loads;
use self::pending::PendingMessages;
use self::prompt::Prompt;
use self::save::InFlight;
use self::standing::StandingPrompt;
use self::view::View;
use crate::streams::Streams;
use crate::workspace::Workspace;

/// The policy of a save when another writer has moved the branch in the meantime.
///
/// ```
/// use std::sync::Arc;
///
/// use context_runtime::{ConflictPolicy, ContextEngine, SaveOutcome, user};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = context_runtime::open("mem:").await?;
/// let engine = || ContextEngine::builder(Arc::clone(&store)).user("ada").chat("lisbon");
/// let mut desk = engine().open().await?;
/// let mut phone = engine().on_conflict(ConflictPolicy::Fork).open().await?;
/// phone.resolve().await?; // has seen the branch without a message
/// desk.set([user("A window seat.")]).save().await?;
/// let saved = phone.set([user("The aisle.")]).save().await?;
/// assert_eq!(saved.outcome, SaveOutcome::Forked { from: "main".into() });
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ConflictPolicy {
    /// Appends the new messages after those of the other writer: one chain with both.
    #[default]
    Graft,
    /// Appends the new messages on a new branch at the position they were written for. The other
    /// writer's branch stays the active one.
    Fork,
    /// Writes nothing and returns [`ErrorKind::Conflict`](crate::ErrorKind::Conflict). Pending
    /// messages stay pending.
    Fail,
}

/// A handle on one chat of one user: set fragments, resolve them into a prompt, save messages,
/// branch, go back.
///
/// Methods take `&mut self`, so one engine is one writer. Any number of engines, in any number of
/// processes, may work on the same chat. A future that is dropped before it completes leaves the
/// store with all of a commit or none of it, and the engine with everything still pending. Save
/// again in that case.
///
/// # Memory
///
/// An engine keeps the part of the branch that it has read: what a model is shown, and the whole
/// branch once something [asks for it](Self::turn_count). With messages of 400 bytes that is about
/// 1.5 KiB a message: 80 to 125 KiB for 50 to 70 of them (`cargo xtask bench load`). It does not
/// grow with the chat but with what is shown, so compactions bound it. A server that keeps an
/// engine for each chat bounds their number, or opens one for each request with
/// [`read_ahead`](ContextEngineBuilder::read_ahead), and then keeps nothing, or chains in a
/// [`ChainCache`](crate::ChainCache) of a fixed number of bytes.
///
/// ```
/// use context_runtime::{ContextEngine, assistant, role, user};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = context_runtime::open("mem:").await?;
/// let mut chat = ContextEngine::builder(store).user("ada").chat("lisbon").open().await?;
/// chat.set([role("You book trips."), user("Two tickets to Lisbon.").with_id("ask")]);
/// let turn = chat.resolve().await?; // what a model is sent; nothing is written
/// chat.set([assistant("Window or aisle?")]);
/// let saved = chat.save().await?; // one commit
/// assert_eq!((turn.messages.len(), saved.branch.as_str()), (1, "main"));
///
/// chat.rewind(&"ask".into()).await?; // a new branch; the answer stays on the old one
/// assert_eq!(chat.resolve().await?.messages.len(), 1);
/// # Ok(())
/// # }
/// ```
pub struct ContextEngine {
    parts: Parts,
    chat: ChatRef,
    branch: BranchName,
    fragments: ContextFragments,
    loads: Loads,
    prompt: Prompt,
    /// The frozen prompt. `None` if the prompt is not frozen.
    standing: Option<StandingPrompt>,
    reminders: reminders::Reminders,
    /// The chat's token usage, as last reported to this engine.
    usage: Option<u64>,
    pending: PendingMessages,
    /// The turn and the run of what is set.
    written_in: Option<WrittenIn>,
    /// A compaction that the next save writes, or the undoing of one.
    compaction: Option<PendingCompaction>,
    /// The branch as far as it was read. `None` before the first use and after a move. Whole if a
    /// compaction is pending.
    view: Option<View>,
    /// A commit with an unknown outcome. It is sent again before anything else is written.
    in_flight: Option<InFlight>,
    /// The lease that this engine took last.
    lease: Option<Lease>,
    decoded: DecodedMessages,
    /// Diagnostics of opening, returned with the next resolve.
    opened_with: Vec<Diagnostic>,
    /// Of the newest snapshot of the workspace.
    left_out: Vec<Diagnostic>,
    /// Pending messages that may have been captured by memory providers already.
    captured: CapturedIds,
    workspace: Option<Workspace>,
}

/// The parts an engine is composed of.
#[derive(Clone)]
struct Parts {
    store: Arc<dyn Store>,
    renderer: Arc<dyn Renderer>,
    codecs: Arc<CodecRegistry>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdGenerator>,
    conflict: ConflictPolicy,
    durability: Option<Durability>,
    load_concurrency: usize,
    cache: Option<Arc<dyn SharedViews>>,
}

/// Views that the engines of a process share.
trait SharedViews: Send + Sync {
    /// Returns the store that the views were read from.
    fn store(&self) -> &Arc<dyn Store>;

    /// Returns the view of a branch, if there is one.
    fn get(&self, chat: &ChatRef, branch: &BranchName) -> Option<View>;

    /// Adds the view of a branch, or replaces it.
    fn put(&self, chat: &ChatRef, branch: &BranchName, view: &View);

    /// Removes the views of a chat.
    fn forget(&self, chat: &ChatRef);
}

impl Parts {
    fn history(&self) -> &dyn HistoryStore {
        self.store.history()
    }

    /// Decodes a stored fragment. Reports one that no codec reads.
    fn decode(
        &self,
        stored: StoredFragment,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<Fragment> {
        let mut fragment = self.codecs.decode(&stored.body)?.with_metadata(stored.metadata);
        if let Some(id) = stored.id {
            fragment = fragment.with_id(id);
        }
        if matches!(fragment.content(), FragmentContent::Unknown(_)) {
            diagnostics.push(Diagnostic::new(
                DiagnosticCode::UnknownFragmentKind,
                Severity::Warning,
                fragment.name(),
                format!(
                    "no codec reads version {} of this kind; kept, not rendered",
                    stored.body.version()
                ),
            ));
        }
        Ok(fragment)
    }

    fn fresh_key(&self) -> Option<CommitKey> {
        Some(self.ids.next_id().into())
    }
}

impl ContextEngine {
    /// Returns a builder for an engine over a store.
    pub fn builder(store: Arc<dyn Store>) -> ContextEngineBuilder {
        ContextEngineBuilder::new(store)
    }

    /// The chat of this engine and its user.
    pub fn chat_ref(&self) -> &ChatRef {
        &self.chat
    }

    /// The branch this engine is on.
    pub fn branch(&self) -> &BranchName {
        &self.branch
    }

    /// The store of this engine.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.parts.store
    }

    /// The streams of this chat: answers in flight.
    pub fn streams(&self) -> Streams {
        let Parts { store, clock, ids, .. } = &self.parts;
        Streams::new(Arc::clone(store), self.chat.clone(), Arc::clone(clock), Arc::clone(ids))
    }

    /// The context fragments, persisted ones first.
    pub fn fragments(&self) -> impl Iterator<Item = &Fragment> {
        self.fragments.iter()
    }

    /// The ids of the messages that are set and not saved, transient ones included. A lazy message
    /// is listed with the id it would get.
    pub fn pending(&self) -> impl Iterator<Item = MessageId> {
        self.pending.ids()
    }

    /// Sets fragments. Messages become pending, in order. Every other fragment joins the context
    /// fragments. A [`Message`](crate::Message) is accepted as a fragment.
    ///
    /// A [transient](Fragment::transient) message is for the next prompts only: it is shown where
    /// it was set until the next save, which drops it. With the id of a stored message, it is shown
    /// in the place of that message.
    ///
    /// A message with a [codec](Fragment::with_message_codec) is stored as the codec encodes it and
    /// shown as the codec decodes that.
    ///
    /// A message without an id gets one. A message whose id is stored already is an edit of that
    /// message. A context fragment replaces one of the same id. A context fragment without an id is
    /// not added again if a persisted one has the same content.
    pub fn set(&mut self, fragments: impl IntoIterator<Item = impl Into<Fragment>>) -> &mut Self {
        for fragment in fragments {
            let fragment = fragment.into();
            if self.parts.codecs.lacks_codec_of(&fragment) {
                Arc::make_mut(&mut self.parts.codecs).adopt(&fragment);
                self.decoded.clear();
            }
            if fragment.is_message() {
                if let Some(id) = fragment.id() {
                    self.reconsider(&MessageId::from(id.clone()));
                }
                let written_in = self.written_in.as_ref();
                let Parts { ids, clock, .. } = &self.parts;
                self.pending.push(fragment, &**ids, &**clock, written_in);
            } else {
                self.fragments.set(fragment);
            }
        }
        self
    }

    /// Sets the turn and the run that the messages which are set from now on belong to. Each is
    /// stored with them ([`Message::written_in`](crate::Message::written_in)), and no provider is
    /// sent it. A message that says where it was written keeps that. Default: none. Turns of
    /// [`Agents`](crate::Agents) set it themselves.
    pub fn write_in(&mut self, written_in: Option<WrittenIn>) -> &mut Self {
        self.written_in = written_in;
        self
    }

    /// Removes what was set under an id: a pending message, or a context fragment. A persisted
    /// context fragment is also removed from the store, and stays in the
    /// [log](context_core::store::FragmentLogStore) of its versions. Returns whether there was
    /// anything to remove.
    pub async fn unset(&mut self, id: &FragmentId) -> Result<bool> {
        let message = MessageId::from(id.clone());
        self.reconsider(&message);
        let pending = self.pending.remove(&message);
        if self.fragments.is_stored(id) {
            let now = self.parts.clock.now();
            self.parts.store.fragments().remove_fragment(&self.chat, id, now).await?;
        }
        Ok(self.fragments.remove(id) || pending)
    }

    /// Abandons an in-flight commit that holds this message, because the caller changes the
    /// message. The commit is not sent again. If it did arrive, the next save finds its ids.
    fn reconsider(&mut self, id: &MessageId) {
        if self.in_flight.as_ref().is_some_and(|flight| flight.holds(id)) {
            self.in_flight = None;
        }
    }

    /// Shares the chain that was read with other engines, through the cache.
    fn share(&self) {
        if let (Some(view), Some(cache)) = (&self.view, &self.parts.cache) {
            cache.put(&self.chat, &self.branch, view);
        }
    }

    /// Drops the chain that was read, here and in the shared cache, because part of its content
    /// must not stay in memory.
    fn forget(&mut self) {
        self.view = None;
        self.decoded.clear();
        if let Some(cache) = &self.parts.cache {
            cache.forget(&self.chat);
        }
    }

    /// Returns the head, or an error for an operation that needs a message on a branch without
    /// messages.
    async fn require_head(&mut self, operation: &'static str) -> Result<MessageId> {
        let head = self.view().await?.head().cloned();
        head.ok_or_else(|| {
            Error::invalid(operation, "the branch has no messages yet; save one first")
                .with("chat", &self.chat.chat)
                .with("branch", &self.branch)
        })
    }
}

impl Drop for ContextEngine {
    /// Logs a warning about unsaved changes, so that a missing `save` is noticed when the engine is
    /// dropped.
    fn drop(&mut self) {
        let (messages, compaction) =
            (self.pending.ids_to_store().count(), self.compaction.is_some());
        if messages == 0 && !compaction {
            return;
        }
        let chat = &self.chat.chat;
        tracing::warn!(
            %chat,
            messages,
            compaction,
            "an engine is dropped with unsaved content, which is lost: call `save` before, or `unset` the content"
        );
        let captured = self.captured.count(self.pending.ids_to_store());
        if captured > 0 {
            tracing::warn!(
                %chat,
                messages = captured,
                "a turn was captured and its messages were never saved, so memories name messages that are in no chat: call `save` before `capture_turn`"
            );
        }
    }
}

impl fmt::Debug for ContextEngine {
    /// Prints names only, because content may be private.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContextEngine")
            .field("store", &self.parts.store.info().name)
            .field("chat", &self.chat)
            .field("branch", &self.branch)
            .field("fragments", &self.fragments.iter().map(Fragment::name).collect::<Vec<_>>())
            .field("pending", &self.pending.ids().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
