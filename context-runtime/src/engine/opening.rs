//! The state of a chat that an engine begins with.

use context_core::store::{ChainEnd, Chat, StoredFragment, Window};
use context_core::{BranchName, ChatRef, Result};

use super::Parts;
use super::view::{Source, View};

/// The branch that a chat is most often on.
const USUAL: &str = "main";

/// A chat as it was read.
pub(super) struct Opening {
    pub(super) chat: Chat,
    pub(super) fragments: Vec<StoredFragment>,
    /// The branch, if it was read ahead.
    pub(super) view: Option<View>,
}

impl Opening {
    /// The state of a chat that was just created.
    pub(super) fn of_new(chat: Chat) -> Self {
        Self { chat, fragments: Vec::new(), view: None }
    }
}

impl Parts {
    /// Reads a chat and its fragments. `None` if the chat does not exist.
    pub(super) async fn opening(&self, chat: &ChatRef) -> Result<Option<Opening>> {
        let Some(found) = self.history().chat(chat).await? else { return Ok(None) };
        let fragments = self.store.fragments().fragments(chat).await?;
        Ok(Some(Opening { chat: found, fragments, view: None }))
    }

    /// Reads a chat, its fragments, and what a model is shown of a branch, or of the active one.
    /// `None` if the chat does not exist.
    pub(super) async fn opening_ahead(
        &self,
        chat: &ChatRef,
        branch: Option<&BranchName>,
    ) -> Result<Option<Opening>> {
        // The active branch is not known yet, and a cached view is one of a branch.
        let guess = branch.cloned().unwrap_or_else(|| USUAL.into());
        let known = self.cache.as_ref().and_then(|cache| cache.get(chat, &guess));
        let window = known.as_ref().and_then(View::news).unwrap_or(Window::Boundary);
        let opened = self.store.open_chat(chat, branch, &window).await?;
        let Some(opened) = opened else { return Ok(None) };
        let branch = branch.unwrap_or(&opened.chat.active);
        let known = known.filter(|_| *branch == guess);
        let view = match (&known, &window) {
            // News about another branch than the one that was opened.
            (None, Window::After { .. }) if !opened.chain.is_whole() => None,
            _ => {
                let source = Source { history: self.history(), chat };
                let end = ChainEnd::Branch(branch.clone());
                Some(source.begin(known, &end, opened.chain).await?.ahead())
            }
        };
        Ok(Some(Opening { chat: opened.chat, fragments: opened.fragments, view }))
    }
}
