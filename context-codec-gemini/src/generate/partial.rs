//! Inputs of calls that arrive in pieces, each with the path at which it belongs.

use context_core::Json;
use indexmap::IndexMap;
use serde::{Serialize, Serializer};

use super::form::PartialArg;
use super::lift::json_of;

/// Maximum depth of an input. No tool can use deeper ones.
const MAX_DEPTH: usize = 64;

/// The part of an input that was received.
#[derive(Clone, Debug, Default)]
pub(super) struct Input {
    root: Node,
    /// Whether a piece did not fit. Then the input is unusable.
    broken: bool,
}

#[derive(Clone, Debug, Default)]
enum Node {
    #[default]
    Nothing,
    Text(String),
    Value(Json),
    List(Vec<Node>),
    Map(IndexMap<String, Node>),
}

/// One step of a path.
enum Step {
    Key(String),
    Index(usize),
}

impl Input {
    /// Adds a piece. Texts at the same path are one text.
    pub(super) fn add(&mut self, piece: PartialArg<'_>) {
        let steps = piece.path.as_ref().and_then(|path| steps(&path.0));
        let Some(node) = steps.and_then(|steps| place(&mut self.root, steps)) else {
            self.broken = true;
            return;
        };
        if let Some(text) = piece.text {
            match node {
                Node::Text(before) => before.push_str(&text.0),
                _ => *node = Node::Text(text.0),
            }
        } else if let Some(number) = piece.number {
            *node = Node::Value(json_of(number));
        } else {
            *node = Node::Value(piece.truth.map_or_else(context_codec_kit::wire::null, |truth| {
                serde_json::Value::Bool(truth).into()
            }));
        }
    }

    /// Returns the whole input, or `None` if the pieces did not fit together.
    pub(super) fn finish(&self) -> Option<Json> {
        match (&self.root, self.broken) {
            (_, true) => None,
            (Node::Nothing, _) => Some(super::lift::empty()),
            (Node::Map(_), _) => Json::from_serialize(&self.root).ok(),
            _ => None,
        }
    }
}

/// Returns the steps of a path such as `$.rows[0].name`.
fn steps(path: &str) -> Option<Vec<Step>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if steps.len() == MAX_DEPTH {
            return None;
        }
        if let Some(key) = rest.strip_prefix('.') {
            let end = key.find(['.', '[']).unwrap_or(key.len());
            steps.push(Step::Key(key[..end].to_owned()));
            rest = &key[end..];
        } else if let Some(quoted) = ["['", "[\""].iter().find_map(|open| rest.strip_prefix(open)) {
            let close = if rest.starts_with("['") { "']" } else { "\"]" };
            let (key, after) = quoted.split_once(close)?;
            steps.push(Step::Key(key.to_owned()));
            rest = after;
        } else {
            let (index, after) = rest.strip_prefix('[')?.split_once(']')?;
            steps.push(Step::Index(index.parse().ok()?));
            rest = after;
        }
    }
    Some(steps)
}

/// Returns the node that a path leads to; `None` if another kind of value is there, or a list would
/// have a gap.
fn place(root: &mut Node, steps: Vec<Step>) -> Option<&mut Node> {
    let mut node = root;
    for step in steps {
        node = match step {
            Step::Key(key) => {
                if matches!(node, Node::Nothing) {
                    *node = Node::Map(IndexMap::new());
                }
                let Node::Map(map) = node else { return None };
                map.entry(key).or_default()
            }
            Step::Index(index) => {
                if matches!(node, Node::Nothing) {
                    *node = Node::List(Vec::new());
                }
                let Node::List(list) = node else { return None };
                if index == list.len() {
                    list.push(Node::Nothing);
                }
                list.get_mut(index)?
            }
        };
    }
    match node {
        Node::List(_) | Node::Map(_) => None,
        _ => Some(node),
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Nothing => serializer.serialize_unit(),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Value(json) => json.serialize(serializer),
            Self::List(items) => serializer.collect_seq(items),
            Self::Map(map) => serializer.collect_map(map),
        }
    }
}
