//! The nodes of an answer tree, and the nodes that a message expresses.

use context_codec_kit::wire::{array, from_map, null, object};
use context_core::base::JsonMap;
use context_core::{Json, Message, Part, Role, ToolCall};

use super::KEY;
use crate::FormProblem;

/// The largest depth of a tree. Parsing is quadratic in the depth, so deeper trees would be slow.
const MAX_DEPTH: usize = 1000;

/// The keys of a node that belong to an observation.
const ANSWER: [&str; 2] = ["observation", "observation_code"];

/// A node without its children.
pub(super) struct TreeNode {
    pub(super) kind: String,
    pub(super) description: String,
    pub(super) observation: Option<String>,
    pub(super) parent: Option<usize>,
    children: Vec<usize>,
    finished: bool,
    /// The keys of the node, with empty `children`.
    map: JsonMap,
}

/// All nodes in depth-first order, from left to right.
pub(super) struct Arena {
    pub(super) nodes: Vec<TreeNode>,
}

/// Nodes that become one message. Each is the only child of the one before it.
pub(super) struct Group {
    pub(super) nodes: Vec<usize>,
}

impl Group {
    pub(super) fn first(&self) -> usize {
        self.nodes.first().copied().unwrap_or_default()
    }

    pub(super) fn last(&self) -> usize {
        self.nodes.last().copied().unwrap_or_default()
    }
}

impl Arena {
    /// Reads a tree from its root.
    pub(super) fn read(root: &Json) -> Result<Self, FormProblem> {
        let mut nodes: Vec<TreeNode> = Vec::new();
        let mut waiting = vec![(root.clone(), None, 0)];
        while let Some((json, parent, depth)) = waiting.pop() {
            if depth > MAX_DEPTH {
                return Err(FormProblem::TreeTooDeep { limit: MAX_DEPTH });
            }
            let mut map: JsonMap = json.parse().map_err(|_| FormProblem::NodeNotObject)?;
            let mut below: Vec<Json> = Vec::new();
            if let Some(children) = map.get_mut("children") {
                below = children.parse().map_err(|_| FormProblem::ChildrenNotList)?;
                *children = array(&[]);
            }
            let text = |key: &str| map.get(key).and_then(Json::to_text);
            let index = nodes.len();
            let node = TreeNode {
                kind: text("node_type").unwrap_or_default(),
                description: text("description").unwrap_or_default(),
                observation: text("observation"),
                parent,
                children: Vec::with_capacity(below.len()),
                finished: map.get("finished").is_some_and(|json| json.as_str() == "true"),
                map,
            };
            nodes.push(node);
            if let Some(parent) = parent {
                nodes[parent].children.push(index);
            }
            waiting.extend(below.into_iter().rev().map(|child| (child, Some(index), depth + 1)));
        }
        Ok(Self { nodes })
    }

    /// Returns the groups of nodes, each after its predecessor.
    pub(super) fn groups(&self) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for (index, node) in self.nodes.iter().enumerate() {
            match groups.last_mut() {
                Some(group) if self.joins(group.last(), index, node) => group.nodes.push(index),
                _ => groups.push(Group { nodes: vec![index] }),
            }
        }
        groups
    }

    /// Returns whether a node continues the message of the one before it.
    fn joins(&self, before: usize, index: usize, node: &TreeNode) -> bool {
        let previous = &self.nodes[before];
        let goes_on = matches!(
            (previous.kind.as_str(), node.kind.as_str()),
            ("Thought", "Action") | ("Action", "Action Input")
        );
        goes_on && previous.parent.is_some() && previous.children == [index]
    }

    /// Returns the tool of an input node.
    pub(super) fn action_of(&self, input: usize) -> &str {
        let parent = self.nodes[input].parent.map(|parent| &self.nodes[parent]);
        parent.filter(|parent| parent.kind == "Action").map_or("", |parent| &parent.description)
    }

    /// Returns the original nodes of a group, without children. With `without_answer`, the last one
    /// has no observation.
    pub(super) fn originals(&self, group: &Group, without_answer: bool) -> Json {
        let nodes: Vec<_> = group
            .nodes
            .iter()
            .map(|index| {
                let mut map = self.nodes[*index].map.clone();
                let elsewhere = without_answer && *index == group.last();
                map.retain(|key, _| !(elsewhere && ANSWER.contains(&key.as_str())));
                from_map(&map).compact()
            })
            .collect();
        array(&nodes)
    }

    /// Returns the leaves from left to right, but the one with the final answer first. That is a
    /// finished leaf with the answer's text, else a finished leaf, else a leaf with the text, else
    /// the last one.
    pub(super) fn leaves(&self, answer: Option<&str>) -> Vec<usize> {
        let mut leaves: Vec<_> =
            (0..self.nodes.len()).filter(|i| self.nodes[*i].children.is_empty()).collect();
        let best = leaves.iter().copied().max_by_key(|index| {
            let node = &self.nodes[*index];
            (node.finished, answer.is_some_and(|answer| answer == node.description), *index)
        });
        leaves.sort_by_key(|index| Some(*index) != best);
        leaves
    }
}

impl TreeNode {
    /// Returns the keys of the observation.
    pub(super) fn answer(&self) -> Json {
        let mut map = self.map.clone();
        map.retain(|key, _| ANSWER.contains(&key.as_str()));
        from_map(&map).compact()
    }
}

/// Returns the nodes that a message expresses: a list of nodes, or the keys of an observation.
pub(super) fn plain(message: &Message) -> Json {
    match message.role {
        Role::Tool => object([("observation", Json::from(answer_text(message).as_str()))]),
        // The root node, whose text comes from another part of the file.
        Role::User => array(&[node("Action Input", "")]),
        _ => array(&message.parts.iter().flat_map(nodes_of).collect::<Vec<_>>()),
    }
}

fn answer_text(message: &Message) -> String {
    let outputs = message.parts.iter().filter_map(|part| match part {
        Part::ToolResult(result) => Some(&result.output),
        _ => None,
    });
    let texts = outputs.flatten().filter_map(|part| match part {
        Part::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn node(kind: &str, description: &str) -> Json {
    let (kind, description) = (Json::from(kind), Json::from(description));
    object([("node_type", kind), ("description", description), ("children", array(&[]))])
}

fn nodes_of(part: &Part) -> Vec<Json> {
    match part {
        Part::Text(text) => vec![node("Thought", &text.text)],
        Part::ToolCall(ToolCall { name, input, .. }) => {
            vec![node("Action", name), node("Action Input", input.as_written())]
        }
        Part::Data(data) => {
            let kind = data.name.strip_prefix(KEY).and_then(|kind| kind.strip_prefix('.'));
            let text = data.value.to_text().unwrap_or_default();
            vec![node(kind.unwrap_or(&data.name), &text)]
        }
        _ => vec![object([("node_type", null()), ("children", array(&[]))])],
    }
}
