//! Reading what a turn begins with on one connection, with one hand-over to its thread.

use context_core::store::{ChainEnd, OpenedChat, Window};
use context_core::{BranchName, ChatRef};
use sqlx::sqlite::SqliteConnection;

use crate::error::Result;
use crate::history::read;
use crate::{chat, fragments};

pub(crate) async fn open(
    connection: &mut SqliteConnection,
    chat: &ChatRef,
    branch: Option<&BranchName>,
    window: &Window,
) -> Result<Option<OpenedChat>> {
    let Some((_, found)) = chat::rows::read(connection, chat).await? else { return Ok(None) };
    let fragments = fragments::list(connection, chat).await?;
    let end = ChainEnd::Branch(branch.unwrap_or(&found.active).clone());
    let chain = read::chain(connection, chat, &end, window).await?;
    Ok(Some(OpenedChat::new(found, fragments, chain)))
}
