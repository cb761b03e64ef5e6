//! The whole content of a chat, and drawings of it.

mod boxes;
mod graphviz;
mod lines;
mod mermaid;
mod options;
mod tree;

use std::collections::{HashMap, HashSet};

use context_core::base::limits;
use context_core::message::{NodeKind, PlacedNode};
use context_core::store::{Branch, Chat, Checkpoint, HistoryStore, PageWalk};
use context_core::{BranchName, ChatRef, Error, MessageId, Result, Role};

pub use self::lines::{GraphLine, GraphSpan};
pub use self::options::{GraphDetail, GraphFormat, GraphOptions, UnknownGraphFormat};

use self::boxes::Boxes;
use self::graphviz::graphviz;
use self::mermaid::mermaid;
use self::tree::Tree;

/// The whole content of a chat.
///
/// ```
/// use context_runtime::{ContextEngine, GraphFormat, assistant, user};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> context_runtime::Result<()> {
/// let store = context_runtime::open("mem:").await?;
/// let mut chat = ContextEngine::builder(store).user("ada").chat("lisbon").open().await?;
/// chat.set([user("Two tickets.").with_id("m1"), assistant("Window or aisle?").with_id("m2")]);
/// chat.save().await?;
/// chat.rewind(&"m1".into()).await?;
/// chat.set([assistant("When?").with_id("m3")]).save().await?;
///
/// let graph = chat.graph().await?;
/// assert_eq!(graph.draw(GraphFormat::Text), "\
/// ● m1  user  Two tickets.
/// ├─○ m2  [main]  assistant  Window or aisle?
/// ● m3  [main-v2*]  assistant  When?
/// ");
/// assert!(graph.draw("mermaid".parse().unwrap()).starts_with("flowchart TD\n"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MessageGraph {
    /// The chat.
    pub chat: Chat,
    /// All messages of all branches, parents before children.
    pub nodes: Vec<PlacedNode>,
    /// The branches, in the order they were created.
    pub branches: Vec<Branch>,
    /// The checkpoints, by name.
    pub checkpoints: Vec<Checkpoint>,
}

impl MessageGraph {
    /// Reads a whole chat, page by page. Returns [`NotFound`](crate::ErrorKind::NotFound) if the
    /// chat does not exist.
    pub async fn read(history: &dyn HistoryStore, chat: &ChatRef) -> Result<Self> {
        let found = history.chat(chat).await?;
        let found = found.ok_or_else(|| Error::not_found("chat", "chat", &chat.chat))?;
        let (mut nodes, mut after) = (Vec::new(), None);
        let mut walk = PageWalk::new("all_messages", "message");
        loop {
            let page = history.all_messages(chat, limits::MAX_PAGE, after.as_ref()).await?;
            let next = walk.next(&page)?;
            nodes.extend(page.items);
            after = next;
            if after.is_none() {
                break;
            }
        }
        let branches = history.branches(chat).await?;
        let checkpoints = history.checkpoints(chat).await?;
        Ok(Self { chat: found, nodes, branches, checkpoints })
    }

    /// Draws the turns of the chat, with the branches, checkpoints and pins at them, oldest first.
    /// The path of the active branch is straight in the first column and its messages are filled;
    /// a star marks the active branch. Long runs of turns where nothing branches are counted, not
    /// drawn.
    ///
    /// Texts are shortened and escaped for the format, so that no content can break the drawing or
    /// control a terminal. The cost grows with the number of messages, not with the depth of the
    /// graph.
    pub fn draw(&self, format: GraphFormat) -> String {
        self.draw_with(format, &GraphOptions::default())
    }

    /// [Draws](Self::draw) the chat with options.
    pub fn draw_with(&self, format: GraphFormat, options: &GraphOptions) -> String {
        let boxes = || Boxes::of(&Tree::of(self, options));
        match format {
            GraphFormat::Text => {
                self.lines(options).iter().map(|line| format!("{}\n", line.short())).collect()
            }
            GraphFormat::Mermaid => mermaid(&boxes(), options.reverse),
            GraphFormat::Dot => graphviz(&boxes(), options.reverse),
        }
    }

    /// Returns the lines of the drawing with characters, in parts that a caller can shorten and
    /// colour.
    pub fn lines(&self, options: &GraphOptions) -> Vec<GraphLine> {
        lines::lines(&Tree::of(self, options), options.reverse)
    }

    /// Returns the messages of a branch, or of the active one. Empty if the branch does not exist.
    pub fn path(&self, branch: Option<&BranchName>) -> HashSet<&MessageId> {
        let parents: HashMap<_, _> =
            self.nodes.iter().map(|placed| (&placed.node.id, placed.parent.as_ref())).collect();
        let mut path = HashSet::new();
        let mut next = self.head(branch);
        // A damaged graph may have a cycle.
        while let Some((id, parent)) = next.and_then(|id| parents.get_key_value(id))
            && path.insert(*id)
        {
            next = *parent;
        }
        path
    }

    fn head(&self, branch: Option<&BranchName>) -> Option<&MessageId> {
        let branch = branch.unwrap_or(&self.chat.active);
        self.branches.iter().find(|it| it.name == *branch)?.head.as_ref()
    }

    /// Keeps the newest turns of a branch, or of the active one, and the messages that branch off
    /// from them. A drawing counts the messages before, and the branches that it does not show.
    pub fn keep_newest(&mut self, turns: usize, branch: Option<&BranchName>) {
        let path = self.path(branch);
        let is_start = |placed: &&PlacedNode| {
            placed.node.kind == NodeKind::Message(Role::User) && path.contains(&placed.node.id)
        };
        let oldest = self.nodes.iter().rev().filter(is_start).nth(turns.saturating_sub(1));
        let Some(oldest) = oldest.map(|placed| placed.node.id.clone()) else { return };
        let mut kept = HashSet::from([oldest]);
        self.nodes.retain(|placed| {
            let id = &placed.node.id;
            kept.contains(id)
                || placed.parent.as_ref().is_some_and(|parent| kept.contains(parent))
                    && kept.insert(id.clone())
        });
    }
}

#[cfg(test)]
mod tests;
