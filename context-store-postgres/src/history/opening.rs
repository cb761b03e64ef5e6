//! Reading what a turn begins with, with one statement.

use context_core::store::{OpenedChat, Window};
use context_core::{BranchName, ChatRef, Error};
use sqlx::Row;

use crate::chat::access::of_chat;
use crate::chat::rows::chat_at;
use crate::connections::Session;
use crate::error::Result;
use crate::fragments::fragment_at;
use crate::history::read::assemble;
use crate::sql;
use crate::values::numbers::signed_count;

/// The columns of a chat, in the order of [`chat_at`].
const CHAT: [usize; 8] = [7, 2, 8, 1, 3, 5, 4, 9];
/// The columns of a fragment, in the order of [`fragment_at`].
const FRAGMENT: [usize; 6] = [0, 7, 8, 1, 9, 2];

/// The windows that a turn begins with.
#[derive(Clone, Copy)]
pub(crate) enum FirstWindow<'w> {
    Boundary,
    /// The messages after this one, if the generation is still the same.
    After(&'w str, u64),
}

impl<'w> FirstWindow<'w> {
    /// Returns the window if a statement reads it together with the chat.
    pub(crate) fn of(window: &'w Window) -> Option<Self> {
        match window {
            Window::Boundary => Some(Self::Boundary),
            Window::After { message, generation } => {
                Some(Self::After(message.as_str(), *generation))
            }
            _ => None,
        }
    }
}

pub(crate) async fn open(
    session: &mut Session<'_>,
    chat: &ChatRef,
    branch: Option<&BranchName>,
    window: FirstWindow<'_>,
) -> Result<Option<OpenedChat>> {
    let name = branch.map(|name| name.as_str().as_bytes());
    let query = match window {
        FirstWindow::Boundary => of_chat(session, sql::OPEN, chat).bind(name),
        FirstWindow::After(message, generation) => of_chat(session, sql::OPEN_AFTER, chat)
            .bind(name)
            .bind(message.as_bytes())
            .bind(signed_count(generation)),
    };
    let (mut found, mut fragments, mut runs) = (None, Vec::new(), Vec::new());
    for row in session.all(query).await? {
        match row.try_get::<i32, _>(6)? {
            0 => found = Some(chat_at(&row, chat, CHAT)?),
            1 => fragments.push(fragment_at(row, FRAGMENT)?),
            _ => runs.push(row),
        }
    }
    let Some(found) = found else { return Ok(None) };
    if runs.is_empty() {
        let name = branch.unwrap_or(&found.active);
        return Err(Error::not_found("open_chat", "branch", name).into());
    }
    fragments.sort_unstable_by_key(|(no, _)| *no);
    let fragments = fragments.into_iter().map(|(_, fragment)| fragment).collect();
    Ok(Some(OpenedChat::new(found, fragments, assemble(runs)?)))
}
