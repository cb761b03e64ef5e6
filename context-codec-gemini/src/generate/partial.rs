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
    root: PartialValue,
    /// Whether a piece did not fit. Then the input is unusable.
    broken: bool,
}

#[derive(Clone, Debug, Default)]
enum PartialValue {
    #[default]
    Nothing,
    Text(String),
    Value(Json),
    List(Vec<PartialValue>),
    Map(IndexMap<String, PartialValue>),
}

/// One step of a path.
enum PathStep {
    Key(String),
    Index(usize),
}

impl Input {
    /// Adds a piece. Texts at the same path are one text.
    pub(super) fn add(&mut self, piece: PartialArg<'_>) {
        let steps = piece.path.as_ref().and_then(|path| steps(&path.0));
        let Some(value) = steps.and_then(|steps| value_at(&mut self.root, steps)) else {
            self.broken = true;
            return;
        };
        if let Some(text) = piece.text {
            match value {
                PartialValue::Text(before) => before.push_str(&text.0),
                _ => *value = PartialValue::Text(text.0),
            }
        } else if let Some(number) = piece.number {
            *value = PartialValue::Value(json_of(number));
        } else {
            *value = PartialValue::Value(
                piece.boolean.map_or_else(context_codec_kit::wire::null, |boolean| {
                    serde_json::Value::Bool(boolean).into()
                }),
            );
        }
    }

    /// Returns the whole input, or `None` if the pieces did not fit together.
    pub(super) fn finish(&self) -> Option<Json> {
        match (&self.root, self.broken) {
            (_, true) => None,
            (PartialValue::Nothing, _) => Some(super::lift::empty()),
            (PartialValue::Map(_), _) => Json::from_serialize(&self.root).ok(),
            _ => None,
        }
    }
}

/// Returns the steps of a path such as `$.rows[0].name`.
fn steps(path: &str) -> Option<Vec<PathStep>> {
    let mut rest = path.strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if steps.len() == MAX_DEPTH {
            return None;
        }
        if let Some(key) = rest.strip_prefix('.') {
            let end = key.find(['.', '[']).unwrap_or(key.len());
            steps.push(PathStep::Key(key[..end].to_owned()));
            rest = &key[end..];
        } else if let Some(quoted) = ["['", "[\""].iter().find_map(|open| rest.strip_prefix(open)) {
            let close = if rest.starts_with("['") { "']" } else { "\"]" };
            let (key, after) = quoted.split_once(close)?;
            steps.push(PathStep::Key(key.to_owned()));
            rest = after;
        } else {
            let (index, after) = rest.strip_prefix('[')?.split_once(']')?;
            steps.push(PathStep::Index(index.parse().ok()?));
            rest = after;
        }
    }
    Some(steps)
}

/// Returns the node that a path leads to; `None` if another kind of value is there, or a list would
/// have a gap.
fn value_at(root: &mut PartialValue, steps: Vec<PathStep>) -> Option<&mut PartialValue> {
    let mut value = root;
    for step in steps {
        value = match step {
            PathStep::Key(key) => {
                if matches!(value, PartialValue::Nothing) {
                    *value = PartialValue::Map(IndexMap::new());
                }
                let PartialValue::Map(map) = value else { return None };
                map.entry(key).or_default()
            }
            PathStep::Index(index) => {
                if matches!(value, PartialValue::Nothing) {
                    *value = PartialValue::List(Vec::new());
                }
                let PartialValue::List(list) = value else { return None };
                if index == list.len() {
                    list.push(PartialValue::Nothing);
                }
                list.get_mut(index)?
            }
        };
    }
    match value {
        PartialValue::List(_) | PartialValue::Map(_) => None,
        _ => Some(value),
    }
}

impl Serialize for PartialValue {
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
