//! A branch of a chat as rows: what a person reads as one step.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use context_runtime::provenance::ProvenanceIndex;
use context_runtime::store::{
    Branch, Chain, ChainEnd, Chat, Checkpoint, Node, StoredBoundary, Window,
};
use context_runtime::{BranchName, ChatRef, Error, MessageId, Role};
use serde::Serialize;

use super::Operations;
use crate::OperationError;

/// A branch with all of its messages.
///
/// Tool results are part of the row of the message that called the tools, so a row is one step: a
/// request, or an answer with its calls and their results.
#[derive(Debug)]
#[non_exhaustive]
pub struct BranchView {
    /// The chat.
    pub chat: Chat,
    /// The branch.
    pub branch: BranchName,
    /// The messages and boundaries, oldest first.
    pub chain: Chain,
    /// The first node of each row.
    starts: Vec<u32>,
    /// The rows that begin a turn.
    turns: Vec<u32>,
    /// The messages that the compaction in force leaves out, once somebody asked for them.
    cut: OnceLock<CutInForce>,
    /// The values of its messages, once somebody asked for them.
    pub(super) provenance: Arc<OnceLock<ProvenanceIndex>>,
}

/// The newest compaction of a branch.
#[derive(Debug, Default)]
struct CutInForce {
    boundary: Option<MessageId>,
    /// For each position before the boundary whether its message is left out of requests.
    left_out: Vec<bool>,
}

impl CutInForce {
    fn of(chain: &Chain) -> Self {
        let Some((position, boundary)) = StoredBoundary::in_force(chain) else {
            return Self::default();
        };
        let window = boundary.window(chain, position).into_iter();
        let shown: HashSet<_> = window.filter_map(|it| Some(it.stored?.id.clone())).collect();
        let before = chain.iter().take(position);
        let left_out = before.map(|node| node.role().is_some() && !shown.contains(&node.id));
        let left_out = left_out.collect();
        Self { boundary: chain.get(position).map(|node| node.id.clone()), left_out }
    }
}

/// A row: nodes that are shown together.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Row<'v> {
    /// The number, from 0.
    pub at: usize,
    /// The turn, from 1; 0 before the first request of the user.
    pub turn: usize,
    /// The first node.
    pub node: &'v Arc<Node>,
    /// The position of the first node in the chain.
    pub position: usize,
    view: &'v BranchView,
    end: usize,
}

impl<'v> Row<'v> {
    /// Returns the messages with results that follow the first node.
    pub fn results(&self) -> impl Iterator<Item = &'v Arc<Node>> + use<'v> {
        let chain = &self.view.chain;
        (self.position + 1..self.end).filter_map(|position| chain.get(position))
    }

    /// Returns whether the newest request lacks the row, because a stored compaction cut it.
    pub fn is_left_out(&self) -> bool {
        let left_out = &self.view.cut_in_force().left_out;
        let mut positions = self.position..self.end;
        positions.all(|position| left_out.get(position).copied().unwrap_or_default())
    }

    /// Returns the branch, if it is not the active one.
    pub(crate) fn other_branch(&self) -> Option<&'v str> {
        (self.view.branch != self.view.chat.active).then(|| self.view.branch.as_str())
    }
}

/// The head of a turn, for an outline.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct TurnHead {
    /// The number, from 1.
    pub turn: usize,
    /// Its first row.
    pub row: usize,
    /// The request.
    pub message: MessageId,
    /// The beginning of the request, on one line.
    pub preview: String,
}

impl BranchView {
    fn new(chat: Chat, branch: BranchName, chain: Chain) -> Self {
        let (starts, turns) = (Vec::new(), Vec::new());
        let (cut, provenance) = (OnceLock::new(), Arc::default());
        let mut view = Self { chat, branch, chain, starts, turns, cut, provenance };
        view.index(0);
        view
    }

    /// Returns the view with further nodes.
    fn extended(&self, chat: Chat, new: &Chain) -> Self {
        let known = self.chain.len();
        let mut chain = self.chain.clone().with_generation(new.generation());
        chain.extend(new);
        let (branch, starts, turns) =
            (self.branch.clone(), self.starts.clone(), self.turns.clone());
        let (cut, provenance) = (OnceLock::new(), Arc::default());
        let mut view = Self { chat, branch, chain, starts, turns, cut, provenance };
        view.index(known);
        view
    }

    fn index(&mut self, from: usize) {
        let mut before = from.checked_sub(1).and_then(|at| self.chain.get(at)).map(|it| it.role());
        for (position, node) in self.chain.iter().enumerate().skip(from) {
            let role = node.role();
            // Results belong to the calls before them; by the role alone, no body is parsed.
            let is_joined = role == Some(Role::Tool)
                && matches!(before, Some(Some(Role::Assistant | Role::Tool)));
            if !is_joined {
                // A chain has at most some hundred thousand nodes.
                let Ok(start) = u32::try_from(position) else { break };
                let Ok(row) = u32::try_from(self.starts.len()) else { break };
                self.starts.push(start);
                if role == Some(Role::User) {
                    self.turns.push(row);
                }
            }
            before = Some(role);
        }
    }

    pub(super) fn is_of(&self, chat: &ChatRef, branch: &BranchName) -> bool {
        self.chat.chat == *chat && self.branch == *branch
    }

    fn cut_in_force(&self) -> &CutInForce {
        self.cut.get_or_init(|| CutInForce::of(&self.chain))
    }

    /// Returns the boundary of the compaction that is in force.
    pub fn boundary(&self) -> Option<&MessageId> {
        self.cut_in_force().boundary.as_ref()
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.starts.len()
    }

    /// The number of turns.
    pub fn turns(&self) -> usize {
        self.turns.len()
    }

    /// Returns a row.
    pub fn row(&self, at: usize) -> Option<Row<'_>> {
        let position = *self.starts.get(at)? as usize;
        let end = self.starts.get(at + 1).map_or(self.chain.len(), |next| *next as usize);
        let turn = self.turns.partition_point(|row| *row as usize <= at);
        let node = self.chain.get(position)?;
        Some(Row { at, turn, node, position, view: self, end })
    }

    /// Returns the row of a message.
    pub fn row_of(&self, message: &MessageId) -> Option<usize> {
        let position = u32::try_from(self.chain.position(message)?).ok()?;
        self.starts.partition_point(|start| *start <= position).checked_sub(1)
    }

    /// Returns the first row of a turn, from 1.
    pub fn row_of_turn(&self, turn: usize) -> Option<usize> {
        self.turns.get(turn.checked_sub(1)?).map(|row| *row as usize)
    }

    /// Returns the heads of turns, from 0.
    pub fn outline(&self, from: usize, count: usize) -> Vec<TurnHead> {
        let turns = self.turns.iter().enumerate().skip(from).take(count);
        let heads = turns.filter_map(|(at, row)| {
            let node = self.row(*row as usize)?.node;
            let preview = context_runtime::display::node_preview(node);
            Some(TurnHead { turn: at + 1, row: *row as usize, message: node.id.clone(), preview })
        });
        heads.collect()
    }
}

impl Operations {
    /// Returns a chat, with its branches and checkpoints.
    pub async fn chat(
        &self,
        chat: &str,
    ) -> Result<(Chat, Vec<Branch>, Vec<Checkpoint>), OperationError> {
        let chat = self.checked(chat)?;
        let found = self.stored_chat(&chat).await?;
        let branches = self.history().branches(&chat).await?;
        Ok((found, branches, self.history().checkpoints(&chat).await?))
    }

    pub(super) async fn stored_chat(&self, chat: &ChatRef) -> Result<Chat, OperationError> {
        let found = self.history().chat(chat).await?;
        Ok(found.ok_or_else(|| Error::not_found("chat", "chat", &chat.chat))?)
    }

    /// Returns a branch of a chat, the active one if none is named. A branch that was read before
    /// costs the read of what is new.
    pub async fn branch(
        &self,
        chat: &str,
        branch: Option<&str>,
    ) -> Result<Arc<BranchView>, OperationError> {
        let chat = self.checked(chat)?;
        let found = self.stored_chat(&chat).await?;
        let branch = branch.map_or_else(|| found.active.clone(), BranchName::from);
        let known = self.cached(|view| view.is_of(&chat, &branch));
        let window = match known.as_ref().and_then(|view| view.chain.head()) {
            None => Window::Whole,
            Some(head) => {
                let generation = known.as_ref().map_or(0, |view| view.chain.generation());
                Window::After { message: head.clone(), generation }
            }
        };
        let read = self.history().chain(&chat, &ChainEnd::Branch(branch.clone()), &window).await?;
        let view = match known {
            // Nodes after those that are known; 0 skipped is the whole chain.
            Some(view) if read.skipped() > 0 => {
                if read.is_empty() && view.chat == found {
                    return Ok(view);
                }
                view.extended(found, &read)
            }
            _ => BranchView::new(found, branch, read),
        };
        let view = Arc::new(view);
        self.keep(&view);
        Ok(view)
    }
}
