//! Adding nodes.

use std::sync::Arc;

use super::super::{
    Change, Edge, EndpointChange, FieldValue, NewNode, NewQuery, NodeId, RoundHead,
    TrajectoryError, TrajectoryNode, TrajectoryNodeKind, edge,
};
use super::Round;
use super::labels::DIGITS;
use crate::Timestamp;
use crate::base::limits;

/// Numbers in caller-chosen labels from here on do not advance the counter.
const HIGHEST: u32 = 1_000_000_000;

/// The label of a new node, and the next number for generated labels.
struct AssignedLabel {
    label: Arc<str>,
    number: u32,
}

impl Round {
    /// Adds the query: the first node of the round, its only endpoint, and the ancestor of all
    /// other nodes.
    pub fn ask(
        &mut self,
        query: NewQuery,
        at: Timestamp,
    ) -> Result<(NodeId, Vec<Change>), TrajectoryError> {
        if !self.is_empty() {
            return Err(TrajectoryError::SecondQuery);
        }
        let mut new = NewNode::new(query.body()?, []);
        (new.author, new.messages) = (query.author, query.messages);
        let label = self.next_label(TrajectoryNodeKind::Query, None)?;
        let digits = label.label.trim_start_matches(TrajectoryNodeKind::Query.lower());
        let description = query.description;
        new.description = description.unwrap_or_else(|| format!("User query No.{digits}").into());
        self.check(&new)?;
        let title = truncated(new.body.headline(), RoundHead::TITLE_BYTES);
        let id = self.id(self.head.next);
        self.head.query = Some(id.ordinal);
        self.head.title = title.into();
        self.endpoints.insert(id.ordinal);
        let node = self.insert(new, label, at);
        Ok((id, vec![Change::NodeAdded { node }]))
    }

    /// Adds a node after others of this round.
    pub fn add(
        &mut self,
        mut new: NewNode,
        at: Timestamp,
    ) -> Result<(NodeId, Vec<Change>), TrajectoryError> {
        let kind = new.body.kind();
        if kind == TrajectoryNodeKind::Query {
            return Err(TrajectoryError::SecondQuery);
        }
        if self.head.query.is_none() {
            return Err(TrajectoryError::NoQueryYet);
        }
        self.check_predecessors(&new)?;
        let name = self.edge_name(&new)?;
        let moves = match new.endpoint_change {
            EndpointChange::Append => false,
            EndpointChange::Close => true,
            EndpointChange::Advance => {
                matches!(kind, TrajectoryNodeKind::State | TrajectoryNodeKind::Action)
            }
        };
        if moves
            && let Some(inner) =
                new.predecessors.iter().find(|id| !self.endpoints.contains(&id.ordinal))
        {
            return Err(TrajectoryError::NotEndpoint { node: *inner });
        }
        self.check(&new)?;
        let label = self.next_label(kind, new.label.as_deref())?;
        let id = self.id(self.head.next);
        if moves {
            new.predecessors.iter().for_each(|old| {
                self.endpoints.remove(&old.ordinal);
            });
        }
        if new.endpoint_change == EndpointChange::Append
            || (new.endpoint_change == EndpointChange::Advance && moves)
        {
            self.endpoints.insert(id.ordinal);
        }
        let after = std::mem::take(&mut new.predecessors);
        let node = self.insert(new, label, at);
        let mut changes = Vec::with_capacity(1 + after.len());
        changes.push(Change::NodeAdded { node });
        for from in after {
            let edge = Edge::new(from, id, name.clone());
            self.put_edge(edge.clone());
            changes.push(Change::EdgeAdded { edge });
        }
        Ok((id, changes))
    }

    fn check_predecessors(&self, new: &NewNode) -> Result<(), TrajectoryError> {
        if new.predecessors.is_empty() {
            return Err(TrajectoryError::NoPredecessor);
        }
        TrajectoryError::too_much(
            "predecessors",
            new.predecessors.len(),
            limits::MAX_PREDECESSORS,
        )?;
        for id in &new.predecessors {
            if id.round != self.head.round.round {
                return Err(TrajectoryError::HistoricalPredecessor { node: *id });
            }
            if self.index_of(*id).is_none() {
                return Err(TrajectoryError::UnknownPredecessor { node: *id });
            }
        }
        if new.predecessors.len() == 1 {
            return Ok(());
        }
        let mut sorted = new.predecessors.clone();
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(TrajectoryError::RepeatedPredecessor { node: pair[0] }),
            None => Ok(()),
        }
    }

    fn edge_name(&self, new: &NewNode) -> Result<Arc<str>, TrajectoryError> {
        let Some(name) = &new.edge else {
            let kinds =
                new.predecessors.iter().filter_map(|id| self.node(*id)).map(|node| node.kind());
            return edge::infer_shared(kinds, new.body.kind());
        };
        self.names.check(name)?;
        match edge::Relation::of(name) {
            edge::Relation::Flow => Ok(name.clone()),
            // A node that only a reference leads to would be outside of the flow.
            edge::Relation::Reference => {
                Err(TrajectoryError::EdgeNameRefused { name: (**name).into() })
            }
        }
    }

    fn check(&self, new: &NewNode) -> Result<(), TrajectoryError> {
        let too_much = TrajectoryError::too_much;
        too_much("nodes of a round", self.nodes.len() + 1, limits::MAX_ROUND_NODES)?;
        too_much("fields of a node, bytes", new.body.bytes(), limits::MAX_BODY_BYTES)?;
        too_much("description, bytes", new.description.len(), limits::MAX_BODY_BYTES)?;
        too_much(
            "author, bytes",
            new.author.as_ref().map_or(0, |author| author.len()),
            limits::MAX_ID_BYTES,
        )?;
        too_much("messages of a node", new.messages.len(), limits::MAX_PREDECESSORS)?;
        for link in &new.messages {
            too_much("chat, bytes", link.chat.as_str().len(), limits::MAX_ID_BYTES)?;
            too_much("message, bytes", link.message.as_str().len(), limits::MAX_ID_BYTES)?;
            if link.chat.as_str().is_empty() || link.message.as_str().is_empty() {
                return Err(TrajectoryError::MissingField {
                    kind: new.body.kind(),
                    field: "messages",
                });
            }
        }
        if let Some(label) = &new.label {
            too_much("label, bytes", label.len(), limits::MAX_ID_BYTES)?;
        }
        Ok(())
    }

    /// Returns the caller's label, or the next free generated one. Either consumes a number. A
    /// caller's label in the generated form consumes its own number, so that no later round
    /// generates the same label.
    fn next_label(
        &self,
        kind: TrajectoryNodeKind,
        chosen: Option<&str>,
    ) -> Result<AssignedLabel, TrajectoryError> {
        let taken = |label: &str| self.labels.find(kind, label, &self.nodes).is_some();
        let number = self.head.numbers[kind as usize];
        if let Some(chosen) = chosen {
            if chosen.is_empty() {
                return Err(TrajectoryError::MissingField { kind, field: "label" });
            }
            if taken(chosen) {
                return Err(TrajectoryError::DuplicateLabel { kind, label: chosen.into() });
            }
            let digits = chosen.strip_prefix(kind.lower()).filter(|digits| digits.len() >= DIGITS);
            let like_ours =
                digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
            let own = like_ours.and_then(|digits| digits.parse().ok()).filter(|own| *own < HIGHEST);
            let next = number.saturating_add(1).max(own.map_or(0, |own: u32| own + 1));
            return Ok(AssignedLabel { label: chosen.into(), number: next });
        }
        let mut free = number;
        loop {
            let label = format!("{}{free:0DIGITS$}", kind.lower());
            let number = free.saturating_add(1);
            if !taken(&label) {
                return Ok(AssignedLabel { label: label.into(), number });
            }
            free = number;
        }
    }

    /// Inserts a node. Nothing can fail at this point.
    fn insert(&mut self, new: NewNode, label: AssignedLabel, at: Timestamp) -> Arc<TrajectoryNode> {
        let id = self.id(self.head.next);
        self.head.numbers[new.body.kind() as usize] = label.number;
        self.head.next += 1;
        self.head.nodes += 1;
        self.touch(at);
        let mut node = TrajectoryNode::new(id, label.label, new.body, at);
        node.description = new.description;
        node.author = new.author;
        node.messages = new.messages;
        node.measures = new.measures;
        let node = Arc::new(node);
        self.put_node(node.clone());
        node
    }

    /// Returns the files that were attached to the query.
    pub fn additional_files(&self) -> Vec<String> {
        let files = self.query().and_then(|query| query.body.get("additional_files").cloned());
        match files {
            Some(FieldValue::Json(json)) => json.parse().unwrap_or_default(),
            _ => Vec::new(),
        }
    }
}

/// Returns the beginning of a text, cut at a character boundary.
fn truncated(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}
