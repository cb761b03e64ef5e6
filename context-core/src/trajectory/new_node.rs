//! Nodes to add to a round.

use std::sync::Arc;

use super::{Measures, MessageLink, NodeBody, NodeId};
use crate::Json;

/// The effect of a new node on the active endpoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum EndpointChange {
    /// A state or an action replaces its predecessors, which must be endpoints. Other kinds change
    /// no endpoint.
    #[default]
    Advance,
    /// The node becomes an additional endpoint.
    Append,
    /// The predecessors, which must be endpoints, are endpoints no longer, and the node is not one
    /// either: the branch ends here.
    Close,
}

/// A node to add.
#[derive(Clone, Debug)]
#[must_use]
pub struct NewNode {
    pub(super) body: NodeBody,
    pub(super) predecessors: Vec<NodeId>,
    pub(super) edge: Option<Arc<str>>,
    pub(super) label: Option<Arc<str>>,
    pub(super) description: Arc<str>,
    pub(super) author: Option<Arc<str>>,
    pub(super) endpoint_change: EndpointChange,
    pub(super) messages: Vec<MessageLink>,
    pub(super) measures: Option<Box<Measures>>,
}

impl NewNode {
    /// Creates a node with these predecessors, at least one.
    pub fn new(body: NodeBody, predecessors: impl IntoIterator<Item = NodeId>) -> Self {
        Self {
            body,
            predecessors: predecessors.into_iter().collect(),
            edge: None,
            label: None,
            description: Arc::default(),
            author: None,
            endpoint_change: EndpointChange::default(),
            messages: Vec::new(),
            measures: None,
        }
    }

    /// Sets the name of the edges that lead to the node. Required if the name cannot be
    /// [inferred](super::edge::infer).
    pub fn edge(mut self, name: impl Into<Arc<str>>) -> Self {
        self.edge = Some(name.into());
        self
    }

    /// Sets the label, such as the id of a call. By default the label is generated from the next
    /// number.
    pub fn label(mut self, label: impl Into<Arc<str>>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Sets the description.
    pub fn describe(mut self, text: impl Into<Arc<str>>) -> Self {
        self.description = text.into();
        self
    }

    /// Sets the author.
    pub fn author(mut self, author: impl Into<Arc<str>>) -> Self {
        self.author = Some(author.into());
        self
    }

    /// Makes the node an additional endpoint; its predecessors stay as they are. Overrides
    /// [`close`](Self::close).
    pub fn append(mut self) -> Self {
        self.endpoint_change = EndpointChange::Append;
        self
    }

    /// Ends the branch: neither the predecessors nor the node are endpoints.
    pub fn close(mut self) -> Self {
        if self.endpoint_change != EndpointChange::Append {
            self.endpoint_change = EndpointChange::Close;
        }
        self
    }

    /// Links the node to a message of a chat.
    pub fn message(mut self, link: MessageLink) -> Self {
        self.messages.push(link);
        self
    }

    /// Sets the measures.
    pub fn measure(mut self, measures: Measures) -> Self {
        self.measures = (!measures.is_empty()).then(|| Box::new(measures));
        self
    }
}

/// A query to add.
#[derive(Clone, Debug)]
#[must_use]
pub struct NewQuery {
    pub(super) text: Arc<str>,
    pub(super) raw: Arc<str>,
    pub(super) files: Vec<String>,
    pub(super) description: Option<Arc<str>>,
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
    /// Creates a query from the question.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self {
            text: text.into(),
            raw: Arc::default(),
            files: Vec::new(),
            description: None,
            author: None,
            messages: Vec::new(),
        }
    }

    /// Sets the user's original text, if the question was rewritten.
    pub fn raw(mut self, text: impl Into<Arc<str>>) -> Self {
        self.raw = text.into();
        self
    }

    /// Adds attached files.
    pub fn files(mut self, files: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.files.extend(files.into_iter().map(Into::into));
        self
    }

    /// Sets the description. Default: `User query No.` with the number of the label.
    pub fn describe(mut self, text: impl Into<Arc<str>>) -> Self {
        self.description = Some(text.into());
        self
    }

    /// Sets the author.
    pub fn author(mut self, author: impl Into<Arc<str>>) -> Self {
        self.author = Some(author.into());
        self
    }

    /// Links the node to a message of a chat.
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
