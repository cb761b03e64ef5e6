//! What a caller says of a node that is to be added.

use std::sync::Arc;

use super::{Measures, MessageLink, NodeBody, NodeId};
use crate::Json;

/// What becomes of the active endpoints when a node is added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Placing {
    /// A conclusion or an action takes the place of its predecessors, which must be endpoints;
    /// anything else changes nothing.
    #[default]
    Advance,
    /// The node is an endpoint more.
    Append,
    /// The predecessors, which must be endpoints, are so no more, and the node is none: the branch
    /// ends here.
    Close,
}

/// A node that is to be added.
#[derive(Clone, Debug)]
#[must_use]
pub struct NewNode {
    pub(super) body: NodeBody,
    pub(super) after: Vec<NodeId>,
    pub(super) edge: Option<Arc<str>>,
    pub(super) label: Option<Arc<str>>,
    pub(super) description: Arc<str>,
    pub(super) author: Option<Arc<str>>,
    pub(super) placing: Placing,
    pub(super) messages: Vec<MessageLink>,
    pub(super) measures: Option<Box<Measures>>,
}

impl NewNode {
    /// A node behind these predecessors, at least one.
    pub fn new(body: NodeBody, after: impl IntoIterator<Item = NodeId>) -> Self {
        Self {
            body,
            after: after.into_iter().collect(),
            edge: None,
            label: None,
            description: Arc::default(),
            author: None,
            placing: Placing::default(),
            messages: Vec::new(),
            measures: None,
        }
    }

    /// Names the edges that lead to it, where that cannot be [inferred](super::edge::infer), or to
    /// say otherwise.
    pub fn edge(mut self, name: impl Into<Arc<str>>) -> Self {
        self.edge = Some(name.into());
        self
    }

    /// Gives it a label of its own, such as the id of a call, in place of the next number.
    pub fn label(mut self, label: impl Into<Arc<str>>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Says what it is about.
    pub fn describe(mut self, text: impl Into<Arc<str>>) -> Self {
        self.description = text.into();
        self
    }

    /// Says who adds it.
    pub fn author(mut self, author: impl Into<Arc<str>>) -> Self {
        self.author = Some(author.into());
        self
    }

    /// Makes it one endpoint more; its predecessors stay what they are. Wins over
    /// [`close`](Self::close).
    pub fn append(mut self) -> Self {
        self.placing = Placing::Append;
        self
    }

    /// Ends the branch: its predecessors are endpoints no more, and neither is the node.
    pub fn close(mut self) -> Self {
        if self.placing != Placing::Append {
            self.placing = Placing::Close;
        }
        self
    }

    /// Links it to a message of a chat.
    pub fn message(mut self, link: MessageLink) -> Self {
        self.messages.push(link);
        self
    }

    /// Says what it took.
    pub fn measure(mut self, measures: Measures) -> Self {
        self.measures = (!measures.is_empty()).then(|| Box::new(measures));
        self
    }
}

/// A question that is to be asked.
#[derive(Clone, Debug)]
#[must_use]
pub struct NewQuery {
    pub(super) text: Arc<str>,
    pub(super) raw: Arc<str>,
    pub(super) files: Vec<String>,
    pub(super) author: Option<Arc<str>>,
    pub(super) messages: Vec<MessageLink>,
}

impl From<&str> for NewQuery {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for NewQuery {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl NewQuery {
    /// A question.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self {
            text: text.into(),
            raw: Arc::default(),
            files: Vec::new(),
            author: None,
            messages: Vec::new(),
        }
    }

    /// What the user wrote, if the question was rewritten.
    pub fn raw(mut self, text: impl Into<Arc<str>>) -> Self {
        self.raw = text.into();
        self
    }

    /// Files that came with it.
    pub fn files(mut self, files: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.files.extend(files.into_iter().map(Into::into));
        self
    }

    /// Says who asks.
    pub fn author(mut self, author: impl Into<Arc<str>>) -> Self {
        self.author = Some(author.into());
        self
    }

    /// Links it to a message of a chat.
    pub fn message(mut self, link: MessageLink) -> Self {
        self.messages.push(link);
        self
    }

    pub(super) fn body(&self) -> Result<NodeBody, super::TrajectoryError> {
        let files = Json::from_serialize(&self.files).expect("a list of texts prints as JSON");
        NodeBody::query(self.text.clone())
            .with("additional_files", files)?
            .with("raw_user_query", super::FieldValue::Text(self.raw.clone()))
    }
}
