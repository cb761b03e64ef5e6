//! Reading what a turn begins with. The three reads are sent together, so they take one journey.

use context_core::store::{ChainEnd, OpenedChat, Window};
use context_core::{BranchName, ChatRef};
use futures_util::future::join3;

use crate::connections::shared::Shared;
use crate::error::Result;
use crate::fragments;
use crate::history::{chats, read};

/// The branch that most chats are on.
const USUAL: &str = "main";

pub(crate) async fn open(
    shared: &Shared,
    chat: &ChatRef,
    branch: Option<&BranchName>,
    window: &Window,
) -> Result<Option<OpenedChat>> {
    let guess = branch.cloned().unwrap_or_else(|| USUAL.into());
    let end = ChainEnd::Branch(guess.clone());
    let (found, fragments, chain) = join3(
        chats::find(shared, chat),
        fragments::list(shared, chat),
        read::chain(shared, chat, &end, window),
    )
    .await;
    let Some(found) = found? else { return Ok(None) };
    let chain = if branch.is_none() && found.active != guess {
        read::chain(shared, chat, &ChainEnd::Branch(found.active.clone()), window).await?
    } else {
        chain?
    };
    Ok(Some(OpenedChat::new(found, fragments?, chain)))
}
