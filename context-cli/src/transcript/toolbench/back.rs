//! Export of a chat to an answer tree.

use std::collections::HashMap;

use context_runtime::wire::{array, from_map, null};
use context_runtime::{
    Diagnostic, DiagnosticCode, Error, Json, JsonMap, JsonPatch, Message, MessageId, Part, Role,
    store::{NodeKind, Placed},
};

use super::super::{Source, note};
use super::nodes::plain;
use super::{FILE, KEY, Mark};
use crate::error::Failure;

/// A node with its position among its siblings.
struct Grown {
    map: JsonMap,
    parent: Option<usize>,
    place: usize,
    children: Vec<usize>,
}

/// Returns the file of an answer tree.
pub(in super::super) fn back(
    source: &Source,
    nodes: &[Placed],
) -> Result<(Json, Vec<Diagnostic>), Failure> {
    let mut kept: Vec<_> = source.kept.iter().map(|kept| (kept.at, kept.value.clone())).collect();
    let (mut grown, mut diagnostics): (Vec<Grown>, _) = (Vec::new(), Vec::new());
    // The last node of each message. `None` before the root.
    let mut ends: HashMap<&MessageId, Option<usize>> = HashMap::new();
    for placed in nodes.iter().filter(|placed| placed.node.kind != NodeKind::Boundary) {
        let message = placed.node.message().map_err(Error::from)?;
        let mark = message
            .metadata
            .get(KEY)
            .and_then(|json| json.parse::<Mark>().ok())
            .unwrap_or_default();
        if let Some(entry) = of_file(message) {
            kept.push((mark.place.unwrap_or(usize::MAX), entry));
            continue;
        }
        let parent = placed.parent.as_ref().and_then(|parent| ends.get(parent).copied().flatten());
        let end = match message.role {
            Role::System => parent,
            Role::Tool => {
                if let Some(node) = parent.and_then(|parent| grown.get_mut(parent)) {
                    node.map.extend(
                        original(message, mark.patch).parse::<JsonMap>().unwrap_or_default(),
                    );
                }
                parent
            }
            _ if parent.is_none() && !grown.is_empty() => {
                let (code, id) = (DiagnosticCode::Unrepresentable, placed.node.id.to_string());
                diagnostics.push(note(code, id, "left out: a tree has one root"));
                None
            }
            _ => {
                let (place, mut end) = (mark.place.unwrap_or(usize::MAX), parent);
                for map in original(message, mark.patch).parse::<Vec<JsonMap>>().unwrap_or_default()
                {
                    let index = grown.len();
                    if let Some(parent) = end {
                        grown[parent].children.push(index);
                    }
                    grown.push(Grown { map, parent: end, place, children: Vec::new() });
                    end = Some(index);
                }
                end
            }
        };
        ends.insert(&placed.node.id, end);
    }
    Ok((file(kept, root(grown)), diagnostics))
}

/// Returns the part of the file that a message holds besides the tree.
fn of_file(message: &Message) -> Option<Json> {
    match message.parts.as_slice() {
        [Part::Data(data)] if data.name == FILE => Some(data.value.clone()),
        _ => None,
    }
}

/// Returns the original nodes of a message, or the original keys of its observation.
fn original(message: &Message, patch: Option<Json>) -> Json {
    let plain = plain(message);
    patch.and_then(|patch| JsonPatch::from(patch).apply(&plain)).unwrap_or(plain)
}

/// Returns the root with its subtree, built from the leaves up.
fn root(mut grown: Vec<Grown>) -> Json {
    let mut written: Vec<Option<Json>> = vec![None; grown.len()];
    for index in (0..grown.len()).rev() {
        let mut children = std::mem::take(&mut grown[index].children);
        children.sort_by_key(|child| grown[*child].place);
        if !children.is_empty() {
            let children: Vec<_> =
                children.into_iter().filter_map(|child| written[child].take()).collect();
            grown[index].map.insert("children".to_owned(), array(&children));
        }
        written[index] = Some(from_map(&grown[index].map));
    }
    let root = grown.iter().position(|node| node.parent.is_none());
    root.and_then(|root| written[root].take()).unwrap_or_else(null)
}

/// Returns the file with its tree.
fn file(mut kept: Vec<(usize, Json)>, root: Json) -> Json {
    kept.sort_by_key(|(at, _)| *at);
    let mut file = JsonMap::default();
    for (_, entry) in kept {
        file.extend(entry.parse::<JsonMap>().unwrap_or_default());
    }
    let mut holder: JsonMap =
        file.get("tree").and_then(|tree| tree.parse().ok()).unwrap_or_default();
    holder.insert("tree".to_owned(), root);
    file.insert("tree".to_owned(), from_map(&holder));
    from_map(&file)
}
