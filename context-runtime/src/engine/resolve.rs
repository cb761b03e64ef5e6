//! Resolving: from set fragments and stored messages to the prompt and messages of a model call.

use std::collections::HashSet;
use std::sync::Arc;

use context_core::fragment::FragmentError;
use context_core::model::LoweredRequest;
use context_core::{
    CancelSignal, Chain, ChatRef, Diagnostic, Error, MessageCodec, MessageId, ModelRequest,
    Renderer, Result, Role,
};

use tracing::Instrument;

use super::ContextEngine;
use super::captured_ids::CapturedIds;
use super::loads::Purpose;
use super::pending::{Settle, Settled, same_but_for_mark};
use super::prompt::{Prompt, PromptChanges, PromptPiece, SystemPrompt};
use super::view::View;
use crate::trace;

/// The prompt and the messages of a model call.
///
/// ```
/// use context_runtime::{ContextEngine, hint, provider, user};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = context_runtime::open("mem:").await?;
/// let mut chat = ContextEngine::builder(store).user("ada").chat("lisbon").open().await?;
/// chat.set([hint("Prices are in EUR."), user("Two tickets.")]);
/// let turn = chat.resolve().await?;
/// assert!(turn.system_prompt.contains("Prices are in EUR."));
/// let request = turn.request().model("claude-sonnet-4-5").max_output_tokens(1_000);
/// let body = provider("anthropic")?.lower(&request)?.body;
/// assert!(body.as_str().contains("Two tickets."));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Resolved {
    /// The owner and the id.
    pub chat: ChatRef,
    /// The rendered context fragments, or those of the [frozen
    /// prompt](super::ContextEngineBuilder::freeze_prompt). Empty if there are none. Shared with
    /// the engine until the prompt changes.
    pub system_prompt: SystemPrompt,
    /// The stored messages of the branch, as the boundary in force shows them, followed by the
    /// pending ones, without placeholders. The nodes are shared with the engine, so cloning and
    /// keeping the chain is cheap.
    pub messages: Chain,
    /// The differences from the previous system prompt of this engine.
    pub changes: PromptChanges,
    /// Content that was left out, with reasons.
    pub diagnostics: Vec<Diagnostic>,
    /// The messages that were pending.
    pub(super) pending: Vec<MessageId>,
    /// The messages that no save stores.
    pub(super) transient: HashSet<MessageId>,
    pub(super) captured: CapturedIds,
}

impl Resolved {
    /// Returns a request with the prompt and messages, to which the caller adds the model, tools
    /// and limits. Messages that cannot be read are left out; the diagnostics name them.
    pub fn request(&self) -> ModelRequest {
        ModelRequest::of_chain(&self.messages).system(String::from(self.system_prompt.clone()))
    }

    /// Returns whether the messages begin with a compaction that only another provider than this
    /// one can read. [`undo_compaction`](ContextEngine::undo_compaction) brings back what it stands
    /// for; [`Agents`](crate::Agents) do that by themselves.
    pub fn is_sealed_for(&self, provider: &str) -> bool {
        let shown = self.messages.iter().filter_map(|node| node.message().ok());
        let front = shown.skip_while(|message| message.role == Role::System);
        front.take_while(|it| it.is_checkpoint()).any(|it| it.is_sealed_for(provider))
    }

    /// Lowers the request with a codec: repaired, in the provider's wire form.
    pub fn lower(&self, codec: &dyn MessageCodec) -> Result<LoweredRequest> {
        Ok(codec.lower(&self.request())?)
    }
}

/// Options of a resolve.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ResolveOptions<'a> {
    /// The renderer to use instead of the engine's own. Every fragment is rendered anew then.
    pub renderer: Option<&'a dyn Renderer>,
    /// The signal that cancels the loading of lazy data.
    pub cancel: CancelSignal,
}

impl<'a> ResolveOptions<'a> {
    /// Returns the default options: the engine's renderer, no cancellation.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the renderer.
    #[must_use]
    pub fn renderer(mut self, renderer: &'a dyn Renderer) -> Self {
        self.renderer = Some(renderer);
        self
    }

    /// Sets the cancel signal.
    #[must_use]
    pub fn cancel(mut self, signal: CancelSignal) -> Self {
        self.cancel = signal;
        self
    }
}

impl ContextEngine {
    /// Resolves set fragments and stored messages into a prompt and messages. Writes nothing.
    ///
    /// A pending message with the id of a stored one is shown in its place. A
    /// [`last_assistant_message`](crate::last_assistant_message) is shown where a save would put
    /// it. Lazy data is loaded first, which needs a Tokio runtime with its timer. Dropping the
    /// future stops the loaders.
    ///
    /// Fragments that did not change are not rendered again.
    pub async fn resolve(&mut self) -> Result<Resolved> {
        self.resolve_with(ResolveOptions::default()).await
    }

    /// Resolves with another renderer or a cancel signal.
    pub async fn resolve_with(&mut self, options: ResolveOptions<'_>) -> Result<Resolved> {
        let span = trace::resolve(&self.chat);
        self.resolved(options).instrument(span).await
    }

    async fn resolved(&mut self, options: ResolveOptions<'_>) -> Result<Resolved> {
        let loaded = self.load_fragments(Purpose::Show, &options.cancel).await?;
        let messages = self.shown_messages().await?;
        // Done last, because it consumes the recorded changes, which must not be lost with a failed
        // read.
        let (system_prompt, changes) = match options.renderer {
            Some(renderer) => self.prompt.render(&mut self.fragments, renderer)?,
            None => self.prompt.update(&mut self.fragments, &*self.parts.renderer)?,
        };
        let system_prompt = match options.renderer {
            Some(_) => system_prompt,
            None => self.freeze_prompt(system_prompt, &messages),
        };
        let mut diagnostics = self.opened_with.clone();
        diagnostics.extend_from_slice(&self.left_out);
        diagnostics.extend(loaded);
        diagnostics.extend(self.view.iter().flat_map(View::unreadable));
        diagnostics.extend(self.decoded.diagnostics());
        let (chat, captured) = (self.chat.clone(), self.captured.clone());
        let pending: Vec<_> = self.pending.ids_to_store().collect();
        let transient = self.pending.transient_ids().cloned().collect();
        captured.keep(&pending);
        Ok(Resolved {
            chat,
            system_prompt,
            messages,
            changes,
            diagnostics,
            pending,
            transient,
            captured,
        })
    }

    /// Returns the piece of each context fragment in the prompt that was resolved last with the
    /// engine's own renderer, in order. Fragments with an empty piece are left out.
    pub fn prompt_pieces(&self) -> impl Iterator<Item = PromptPiece<'_>> {
        Prompt::pieces(&self.fragments)
    }

    /// Returns stored and pending messages as a model is shown them.
    pub(crate) async fn shown_messages(&mut self) -> Result<Chain> {
        self.view().await?;
        let view = self.view.as_mut().expect("just read");
        let settled = self.pending.settle(view, Settle::Shown).map_err(refuse)?;
        if self.compaction.is_none() {
            let new = settled.nodes.iter().chain(&settled.replacement);
            let has_encoded = view.has_encoded() || new.clone().any(|node| node.is_encoded());
            let shown = overlay(view, &settled);
            return Ok(match has_encoded {
                true => self.decoded.decode_chain(shown, &self.parts.codecs),
                false => shown,
            });
        }
        let shown = self.entries().await?.into_iter().map(|shown| shown.node);
        Ok(Chain::from_nodes(0, shown.filter(|node| node.is_shown())))
    }
}

/// Converts the error of an invalid message fragment.
pub(super) fn refuse(error: FragmentError) -> Error {
    Error::invalid("settle", error.to_string()).with_source(error)
}

fn overlay(view: &mut View, settled: &Settled) -> Chain {
    let (mut stored, mut new) = (Vec::new(), Vec::new());
    for node in settled.nodes.iter().chain(&settled.replacement) {
        match view.position(&node.id) {
            // What is stored is sent as it is stored, so that its beginning stays the same.
            Some(position) if same_but_for_mark(node, &view.chain()[position]) => {}
            Some(position) => stored.push((position, Arc::clone(node))),
            None => new.push(node),
        }
    }
    let mut messages = view.shown_with(&stored);
    new.into_iter()
        .filter(|node| !node.is_placeholder())
        .for_each(|node| messages.push(Arc::clone(node)));
    messages
}
