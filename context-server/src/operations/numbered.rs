//! Messages of a branch by their numbers, for readers that name places so.

use std::collections::HashMap;
use std::sync::Arc;

use context_runtime::store::{ChainEnd, Node, PlacedNode, Window};
use context_runtime::{BranchName, Error, MessageId, Part, Spilled, ToolResult, display, limits};

use super::{Operations, SearchLine};
use crate::OperationError;

/// The most messages that are read at once.
const MOST_READ: u64 = 500;
/// The most branches that an error names.
const MOST_NAMED: usize = 20;

/// A branch whose messages have numbers, from 1 for its first.
#[derive(Clone, Debug)]
pub(crate) struct NumberedBranch {
    pub(crate) name: BranchName,
    pub(crate) is_active: bool,
    /// The number of its messages.
    pub(crate) total: u64,
}

/// Consecutive messages of a branch.
#[derive(Debug)]
pub(crate) struct NumberedMessages {
    pub(crate) branch: NumberedBranch,
    /// The number of the first of them.
    pub(crate) first: u64,
    pub(crate) nodes: Vec<Arc<Node>>,
}

/// A message with its number on a branch.
#[derive(Debug)]
pub(crate) struct NumberedMessage {
    pub(crate) node: Arc<Node>,
    pub(crate) number: u64,
    /// The branch. `None` if no branch has the message any more.
    pub(crate) branch: Option<NumberedBranch>,
}

impl Operations {
    /// Returns the messages of a branch from `first` on, or those up to `last` without it, as many
    /// as are read at once. With neither they are the newest.
    pub(crate) async fn numbered(
        &self,
        chat: &str,
        branch: Option<&str>,
        (first, last): (Option<u64>, Option<u64>),
    ) -> Result<NumberedMessages, OperationError> {
        let (name, is_active) = self.known_branch(chat, branch).await?;
        let chat = self.checked(chat)?;
        let end = ChainEnd::Branch(name.clone());
        let newest = self.history().chain(&chat, &end, &Window::Last(1)).await?;
        let total = newest.skipped() + newest.len() as u64;
        let branch = NumberedBranch { name, is_active, total };
        let (first, last) = range(first, last, total)?;
        let Some(head) = newest.head().filter(|_| first <= last) else {
            return Ok(NumberedMessages { branch, first, nodes: Vec::new() });
        };
        // The message is the end, and not the branch, because others may append to that.
        let end = ChainEnd::Message(head.clone());
        let window = Window::Last(usize::try_from(total - first + 1).unwrap_or(usize::MAX));
        let chain = self.history().chain(&chat, &end, &window).await?;
        let count = usize::try_from(last - first + 1).unwrap_or(usize::MAX);
        let nodes = chain.iter().take(count).cloned().collect();
        Ok(NumberedMessages { branch, first, nodes })
    }

    /// Returns a message by its id, on any branch, or by its number on a branch. An id that looks
    /// like a number comes first.
    pub(crate) async fn numbered_message(
        &self,
        chat: &str,
        branch: Option<&str>,
        message: &str,
    ) -> Result<NumberedMessage, OperationError> {
        let (own, _) = self.known_branch(chat, branch).await?;
        if let Some(placed) = self.placed(chat, message).await? {
            return self.on_a_branch(chat, own, placed).await;
        }
        let Ok(number) = message.trim_start_matches('#').parse::<u64>() else {
            return Err(Error::not_found("message", "message", message).into());
        };
        let found = self.numbered(chat, Some(own.as_str()), (Some(number), Some(number))).await?;
        let node = found.nodes.into_iter().next();
        let node = node.ok_or_else(|| Error::not_found("message", "message", message))?;
        Ok(NumberedMessage { node, number, branch: Some(found.branch) })
    }

    async fn placed(&self, chat: &str, id: &str) -> Result<Option<PlacedNode>, OperationError> {
        // Numbers and other words of a reader need not be possible ids.
        if limits::check_id("message", "message", id).is_err() {
            return Ok(None);
        }
        let ids = [MessageId::from(id)];
        let found = self.history().messages(&self.checked(chat)?, &ids).await?;
        Ok(found.into_iter().flatten().next())
    }

    /// Finds the branch of a message: this one, if it has the message.
    async fn on_a_branch(
        &self,
        chat: &str,
        own: BranchName,
        placed: PlacedNode,
    ) -> Result<NumberedMessage, OperationError> {
        let number = placed.depth + 1;
        let others = self.history().branches(&self.checked(chat)?).await?.into_iter();
        let others = others.map(|branch| branch.name).filter(|name| *name != own);
        for name in std::iter::once(own.clone()).chain(others) {
            let there = (Some(number), Some(number));
            let found = match self.numbered(chat, Some(name.as_str()), there).await {
                Ok(found) => found,
                // The branch is shorter, or was deleted meanwhile.
                Err(OperationError::Invalid { .. }) => continue,
                Err(error) => return Err(error),
            };
            if found.nodes.first().is_some_and(|node| node.id == placed.node.id) {
                let branch = Some(found.branch);
                return Ok(NumberedMessage { node: placed.node, number, branch });
            }
        }
        Ok(NumberedMessage { node: placed.node, number, branch: None })
    }

    /// Returns a branch of a chat and whether it is the active one, which it is if none is named.
    pub(crate) async fn known_branch(
        &self,
        chat: &str,
        branch: Option<&str>,
    ) -> Result<(BranchName, bool), OperationError> {
        let (found, branches, _) = self.chat(chat).await?;
        let Some(asked) = branch else { return Ok((found.active, true)) };
        if branches.iter().any(|branch| branch.name.as_str() == asked) {
            return Ok((asked.into(), found.active.as_str() == asked));
        }
        let names = branches.iter().take(MOST_NAMED).map(|branch| branch.name.as_str());
        let (names, more) = (names.collect::<Vec<_>>(), branches.len() > MOST_NAMED);
        let problem = format!(
            "the chat has no branch {asked:?}, but {}{}; without `branch` it is {:?}",
            names.join(", "),
            if more { " and others" } else { "" },
            found.active.as_str(),
        );
        Err(OperationError::invalid("branch", problem))
    }

    /// Returns the numbers of messages that a search found, by chat and id. One that cannot be read
    /// has none.
    pub(crate) async fn numbers(&self, hits: &[SearchLine]) -> HashMap<(String, String), u64> {
        let mut by_chat = HashMap::<&str, Vec<MessageId>>::new();
        for hit in hits {
            by_chat.entry(&hit.chat).or_default().push(hit.message.as_str().into());
        }
        let mut numbers = HashMap::new();
        for (chat, ids) in by_chat {
            let Ok(found) = self.history().messages(&self.chat_ref(chat), &ids).await else {
                continue;
            };
            for placed in found.into_iter().flatten() {
                let id = placed.node.id.to_string();
                numbers.insert((chat.to_owned(), id), placed.depth + 1);
            }
        }
        numbers
    }

    /// Returns the text of a message with its tool results in full, also those that were too large
    /// for a window.
    pub(crate) async fn whole_text(&self, chat: &str, node: &Node) -> String {
        let Ok(message) = node.message() else { return text(node) };
        let mut texts = Vec::with_capacity(message.parts.len());
        for part in &message.parts {
            let whole = match part {
                Part::ToolResult(result) => self.spilled(chat, result).await,
                _ => None,
            };
            texts.push(whole.unwrap_or_else(|| display::part(part).into_owned()));
        }
        texts.join("\n")
    }

    /// Returns a spilled result in full. `None` if it was not spilled, or can no longer be read.
    async fn spilled(&self, chat: &str, result: &ToolResult) -> Option<String> {
        let spilled = Spilled::of(&result.metadata)?;
        let whole = 0..limits::MAX_BLOB_BYTES as u64;
        let chat = self.chat_ref(chat);
        let read = self.store.blobs()?.read_blob(&chat, &spilled.blob, whole, None).await;
        let bytes = read.ok()??;
        let name = result.name.as_deref().unwrap_or(&result.call_id);
        let failed = if result.is_error { " failed:" } else { "" };
        Some(format!("← {name}{failed} {}", std::str::from_utf8(&bytes).ok()?))
    }
}

/// Returns the text of a message as it was sent.
pub(crate) fn text(node: &Node) -> String {
    match node.message() {
        Ok(message) => message.parts.iter().map(display::part).collect::<Vec<_>>().join("\n"),
        Err(_) => display::node_preview(node),
    }
}

/// Returns the numbers to read, the first and the last of them.
fn range(first: Option<u64>, last: Option<u64>, total: u64) -> Result<(u64, u64), OperationError> {
    if let (Some(first), Some(last)) = (first, last)
        && last < first
    {
        let problem = format!("{last} comes before {first}, which is `first`");
        return Err(OperationError::invalid("last", problem));
    }
    let missing = |name, number: u64| {
        let problem = match total {
            0 => "the chat has no messages on this branch".to_owned(),
            _ => format!("there is no message {number}: they are numbered from 1 to {total}"),
        };
        OperationError::invalid(name, problem)
    };
    match (first, last) {
        (_, Some(0)) => Err(missing("last", 0)),
        (Some(first), _) if first == 0 || first > total => Err(missing("first", first)),
        (Some(first), last) => {
            let most = first.saturating_add(MOST_READ - 1).min(total);
            Ok((first, last.map_or(most, |last| last.min(most))))
        }
        (None, last) => {
            let last = last.map_or(total, |last| last.min(total));
            Ok((last.saturating_sub(MOST_READ - 1).max(1), last))
        }
    }
}
