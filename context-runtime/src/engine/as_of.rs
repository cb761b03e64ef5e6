//! `as_of`: the state of a chat as it was at the time of a message.

use std::collections::HashSet;
use std::sync::Arc;

use context_core::base::limits;
use context_core::store::{ChainEnd, Checkpoint, FragmentVersion, Window};
use context_core::{
    Chain, ChatRef, Diagnostic, Error, ErrorKind, MessageId, Node, Result, Timestamp,
};

use super::ContextEngine;
use super::context::ContextFragments;
use super::decoded::DecodedMessages;
use super::prompt::{Prompt, SystemPrompt};
use super::view::View;

/// The state of a chat as of one of its messages. Made by [`ContextEngine::as_of`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AsOf {
    /// The chat.
    pub chat: ChatRef,
    /// The message.
    pub message: MessageId,
    /// The time of the message.
    pub at: Timestamp,
    /// All messages and boundaries from the root to the message, with the bodies that they had at
    /// that time. Redacted content is not there.
    pub history: Chain,
    /// The part of the history that a model was shown: as the boundary in force shows it, without
    /// placeholders.
    pub messages: Chain,
    /// The persisted fragments at that time, in their order. A version without a
    /// [time](FragmentVersion::at) was stored at an unknown time, maybe after the message.
    pub fragments: Vec<FragmentVersion>,
    /// The prompt that the engine's renderer makes of these fragments, without those that were set
    /// and not persisted. A [frozen prompt](super::ContextEngineBuilder::freeze_prompt) may have
    /// been older.
    pub system_prompt: SystemPrompt,
    /// The checkpoints that were set at that time or earlier and still exist, by name. A moved
    /// checkpoint counts as set when it was last moved.
    pub checkpoints: Vec<Checkpoint>,
    /// Content that is left out, with reasons.
    pub diagnostics: Vec<Diagnostic>,
}

impl ContextEngine {
    /// Returns the state of the chat as it was at the time of a message, when it was set. The
    /// message may be on any branch. Writes nothing, and does not change the engine: what is set
    /// and not saved, and the engine's branch, do not matter.
    ///
    /// A change of a persisted fragment counts if its commit has a message of the chain up to this
    /// one, or if it was made at the [time](context_core::Node::created_at) of the message or
    /// earlier. So a fragment that is saved together with the message is part of the state, and one
    /// that is changed after it is not.
    ///
    /// [`ErrorKind::Unsupported`] if the store keeps no versions of fragments,
    /// [`ErrorKind::NotFound`] if the chat has no such message, or if the versions of that time are
    /// no longer kept: a chat keeps the newest
    /// [`MAX_FRAGMENT_VERSIONS`](limits::MAX_FRAGMENT_VERSIONS). Other writers may change the chat
    /// between the reads.
    ///
    /// ```
    /// use context_runtime::{ContextEngine, hint, user};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> context_runtime::Result<()> {
    /// let store = context_runtime::open("mem:").await?;
    /// let mut chat = ContextEngine::builder(store).user("ada").chat("lisbon").open().await?;
    /// let price = |text: &str| hint(text).persisted().with_id("price");
    /// chat.set([price("Prices are in EUR."), user("Two tickets.").with_id("ask")]).save().await?;
    /// chat.set([price("Prices are in USD."), user("And a hotel.")]).save().await?;
    ///
    /// let then = chat.as_of(&"ask".into()).await?;
    /// assert!(then.system_prompt.contains("EUR") && !then.system_prompt.contains("USD"));
    /// assert_eq!(then.messages.len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn as_of(&self, message: &MessageId) -> Result<AsOf> {
        const OPERATION: &str = "as_of";
        let Some(log) = self.parts.store.fragment_log() else {
            let text = "this store keeps no earlier versions of fragments";
            return Err(Error::new(ErrorKind::Unsupported, OPERATION, text));
        };
        let stored = self.parts.history();
        let end = ChainEnd::Message(message.clone());
        let chain = stored.chain(&self.chat, &end, &Window::Whole).await?;
        let newest = chain.iter().next_back().map(|node| node.created_at);
        let at = newest.ok_or_else(|| Error::not_found(OPERATION, "message", message))?;

        let log = log.fragment_log(&self.chat).await?;
        let ids: HashSet<_> = chain.iter().map(|node| &node.id).collect();
        let versions = log.as_of(at, |id| ids.contains(id)).ok_or_else(|| {
            let text = "the versions of the fragments at this message are no longer kept";
            let error = Error::new(ErrorKind::NotFound, OPERATION, text);
            error.with("message", message).with("limit", limits::MAX_FRAGMENT_VERSIONS)
        })?;
        let mut diagnostics = Vec::new();
        let system_prompt = self.prompt_of(&versions, &mut diagnostics)?;

        let checkpoints = stored.checkpoints(&self.chat).await?;
        let history = self.bodies_at(at, &chain).await?;
        let mut view = View::of(history.clone());
        let mut decoded = DecodedMessages::default();
        let messages = decoded.decode_chain(view.shown().clone(), &self.parts.codecs);
        diagnostics.extend(view.unreadable());
        diagnostics.extend(decoded.diagnostics());
        Ok(AsOf {
            chat: self.chat.clone(),
            message: message.clone(),
            at,
            history,
            messages,
            fragments: versions.into_iter().cloned().collect(),
            system_prompt,
            checkpoints: checkpoints.into_iter().filter(|it| it.created_at <= at).collect(),
            diagnostics,
        })
    }

    /// Returns the prompt of these versions of persisted fragments.
    pub(super) fn prompt_of(
        &self,
        versions: &[&FragmentVersion],
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<SystemPrompt> {
        let mut persisted = Vec::new();
        for fragment in versions.iter().filter_map(|version| version.fragment.clone()) {
            persisted.push(self.parts.decode(fragment, diagnostics)?);
        }
        let persisted = ContextFragments::loaded(persisted);
        Ok(Prompt::default().peek(&persisted, &*self.parts.renderer)?)
    }

    /// Returns the chain with the body that each message had at a time.
    async fn bodies_at(&self, at: Timestamp, chain: &Chain) -> Result<Chain> {
        let mut then = chain.clone();
        let amended = chain.iter().enumerate().filter(|(_, node)| node.revision > 0);
        let amended: Vec<(usize, Arc<Node>)> =
            amended.map(|(position, node)| (position, Arc::clone(node))).collect();
        for (position, node) in amended {
            let revisions = self.parts.history().revisions(&self.chat, &node.id).await?;
            if let Some(then_body) = revisions.into_iter().find(|it| it.replaced_at > at) {
                then.replace(position, then_body.node);
            }
        }
        Ok(then)
    }
}
