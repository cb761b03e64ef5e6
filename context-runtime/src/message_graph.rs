//! The whole content of a chat, and drawings of it.

mod drawing;

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use context_core::base::display::shown;
use context_core::base::limits;
use context_core::message::{NodeKind, PlacedNode};
use context_core::store::{Branch, Chat, Checkpoint, HistoryStore, PageWalk};
use context_core::{ChatRef, Error, MessageId, Result};

use self::drawing::{Dot, draw, graphviz, mermaid};
use crate::display::{clean, node_preview, role, short_id};

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
/// ├─● m2  assistant  Window or aisle?  [main]
/// ● m3  assistant  When?  [main-v2*]
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

/// The format of a drawing of a [`MessageGraph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GraphFormat {
    /// Lines of characters.
    Text,
    /// A Mermaid flow chart, which many Markdown viewers show.
    Mermaid,
    /// A graph in DOT, for Graphviz.
    Dot,
}

/// The error of a name that no [`GraphFormat`] has.
#[derive(thiserror::Error)]
#[error("no format {}: text, mermaid or dot", shown(.0))]
pub struct UnknownGraphFormat(String);

context_core::readable_debug!(UnknownGraphFormat);

impl GraphFormat {
    /// Returns the stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Mermaid => "mermaid",
            Self::Dot => "dot",
        }
    }
}

impl fmt::Display for GraphFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for GraphFormat {
    type Err = UnknownGraphFormat;

    fn from_str(name: &str) -> Result<Self, UnknownGraphFormat> {
        [Self::Text, Self::Mermaid, Self::Dot]
            .into_iter()
            .find(|format| format.as_str() == name)
            .ok_or_else(|| UnknownGraphFormat(name.to_owned()))
    }
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

    /// Draws the messages, oldest first, with the branches and checkpoints at them. A star marks
    /// the active branch. Runs of messages where nothing branches are counted, not drawn.
    ///
    /// Texts are shortened and escaped for the format, so that no content can break the drawing or
    /// control a terminal. The cost grows with the number of messages, not with the depth of the
    /// graph.
    pub fn draw(&self, format: GraphFormat) -> String {
        let marks = self.marks();
        let mut dots: Vec<_> = self.nodes.iter().map(|placed| dot(placed, &marks)).collect();
        // A branch without messages has no place in the graph.
        let empty = self.branches.iter().filter(|branch| branch.head.is_none());
        let empty = empty.map(|branch| format!("{} without messages", mark(branch)));
        if format == GraphFormat::Text {
            let lines = draw(&dots).into_iter().chain(empty.map(|branch| format!("○ {branch}")));
            return lines.map(|line| line + "\n").collect();
        }
        dots.extend(empty.map(|head| Dot {
            id: "",
            parent: None,
            head,
            text: String::new(),
            marks: String::new(),
            shown: true,
        }));
        if format == GraphFormat::Dot { graphviz(&dots) } else { mermaid(&dots) }
    }

    /// Returns the branches and checkpoints at each message, for example
    /// `[main*] [checkpoint: paid]`.
    fn marks(&self) -> HashMap<&MessageId, String> {
        let branches = self.branches.iter();
        let branches = branches.filter_map(|branch| Some((branch.head.as_ref()?, mark(branch))));
        let checkpoints = self.checkpoints.iter().map(|checkpoint| {
            let name = clean(checkpoint.name.as_str());
            (&checkpoint.message, format!("[checkpoint: {name}]"))
        });
        let mut marks: HashMap<_, String> = HashMap::new();
        for (message, mark) in branches.chain(checkpoints) {
            let at = marks.entry(message).or_default();
            *at += if at.is_empty() { "" } else { " " };
            *at += &mark;
        }
        marks
    }
}

/// Returns a branch as a drawing marks it.
fn mark(branch: &Branch) -> String {
    format!("[{}{}]", clean(branch.name.as_str()), if branch.active { "*" } else { "" })
}

fn dot<'a>(placed: &'a PlacedNode, marks: &HashMap<&MessageId, String>) -> Dot<'a> {
    let node = &placed.node;
    let marks = marks.get(&node.id).cloned().unwrap_or_default();
    Dot {
        id: node.id.as_str(),
        parent: placed.parent.as_ref().map(AsRef::as_ref),
        head: format!("{}  {}", short_id(&node.id), role(node)),
        text: node_preview(node),
        shown: !marks.is_empty() || node.kind == NodeKind::Boundary,
        marks,
    }
}
