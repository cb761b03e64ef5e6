//! The state of a chat that an engine begins with.

use crate::store::{ChainEnd, Chat, StoredFragment, Window};
use crate::{BranchName, Chain, ChatRef, Result, Store};

/// A chat, its fragments and messages of one of its branches, read
/// [together](Store::open_chat).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OpenedChat {
    /// Title, metadata and the active branch.
    pub chat: Chat,
    /// The persisted fragments, in the order in which they were first put.
    pub fragments: Vec<StoredFragment>,
    /// The requested messages of the requested branch, or of the active one.
    pub chain: Chain,
}

impl OpenedChat {
    /// Creates the value.
    pub fn new(chat: Chat, fragments: Vec<StoredFragment>, chain: Chain) -> Self {
        Self { chat, fragments, chain }
    }

    /// Reads the parts with one call each, as the default of [`Store::open_chat`] does.
    pub async fn read<S: Store + ?Sized>(
        store: &S,
        chat: &ChatRef,
        branch: Option<&BranchName>,
        window: &Window,
    ) -> Result<Option<Self>> {
        let Some(found) = store.history().chat(chat).await? else { return Ok(None) };
        let fragments = store.fragments().fragments(chat).await?;
        let end = ChainEnd::Branch(branch.unwrap_or(&found.active).clone());
        let chain = store.history().chain(chat, &end, window).await?;
        Ok(Some(Self::new(found, fragments, chain)))
    }
}
