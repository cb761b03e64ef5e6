//! Export of a chat to an answer tree.

use std::collections::HashMap;

use context_codec_kit::JsonPatch;
use context_codec_kit::wire::{array, from_map, null};
use context_core::base::{CodecError, DiagnosticCode, JsonMap};
use context_core::message::{NodeKind, PlacedNode};
use context_core::{Diagnostic, Json, Message, MessageId, Part, Role};

use super::nodes::plain;
use super::{FILE, KEY, OriginalNodes};
use crate::TranscriptSource;
use crate::chat::warning;

/// A node with its position among its siblings.
struct OutputNode {
    map: JsonMap,
    parent: Option<usize>,
    place: usize,
    children: Vec<usize>,
}

/// Returns the file of an answer tree.
pub(crate) fn write(
    source: &TranscriptSource,
    nodes: &[PlacedNode],
) -> Result<(Json, Vec<Diagnostic>), CodecError> {
    let mut sidecar: Vec<_> =
        source.sidecar.iter().map(|entry| (entry.at, entry.value.clone())).collect();
    let (mut output, mut diagnostics): (Vec<OutputNode>, _) = (Vec::new(), Vec::new());
    // The last node of each message. `None` before the root.
    let mut ends: HashMap<&MessageId, Option<usize>> = HashMap::new();
    for placed in nodes.iter().filter(|placed| placed.node.kind != NodeKind::Boundary) {
        let message = placed.node.message()?;
        let from = message
            .metadata
            .get(KEY)
            .and_then(|json| json.parse::<OriginalNodes>().ok())
            .unwrap_or_default();
        if let Some(entry) = of_file(message) {
            sidecar.push((from.place.unwrap_or(usize::MAX), entry));
            continue;
        }
        let parent = placed.parent.as_ref().and_then(|parent| ends.get(parent).copied().flatten());
        let end = match message.role {
            Role::System => parent,
            Role::Tool => {
                if let Some(node) = parent.and_then(|parent| output.get_mut(parent)) {
                    node.map.extend(
                        original(message, from.patch).parse::<JsonMap>().unwrap_or_default(),
                    );
                }
                parent
            }
            _ if parent.is_none() && !output.is_empty() => {
                let (code, id) = (DiagnosticCode::Unrepresentable, placed.node.id.to_string());
                diagnostics.push(warning(code, id, "left out: a tree has only one root"));
                None
            }
            _ => {
                let (place, mut end) = (from.place.unwrap_or(usize::MAX), parent);
                for map in original(message, from.patch).parse::<Vec<JsonMap>>().unwrap_or_default()
                {
                    let index = output.len();
                    if let Some(parent) = end {
                        output[parent].children.push(index);
                    }
                    output.push(OutputNode { map, parent: end, place, children: Vec::new() });
                    end = Some(index);
                }
                end
            }
        };
        ends.insert(&placed.node.id, end);
    }
    Ok((file(sidecar, root(output)), diagnostics))
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
fn root(mut output: Vec<OutputNode>) -> Json {
    let mut written: Vec<Option<Json>> = vec![None; output.len()];
    for index in (0..output.len()).rev() {
        let mut children = std::mem::take(&mut output[index].children);
        children.sort_by_key(|child| output[*child].place);
        if !children.is_empty() {
            let children: Vec<_> =
                children.into_iter().filter_map(|child| written[child].take()).collect();
            output[index].map.insert("children".to_owned(), array(&children));
        }
        written[index] = Some(from_map(&output[index].map));
    }
    let root = output.iter().position(|node| node.parent.is_none());
    root.and_then(|root| written[root].take()).unwrap_or_else(null)
}

/// Returns the file with its tree.
fn file(mut sidecar: Vec<(usize, Json)>, root: Json) -> Json {
    sidecar.sort_by_key(|(at, _)| *at);
    let mut file = JsonMap::default();
    for (_, entry) in sidecar {
        file.extend(entry.parse::<JsonMap>().unwrap_or_default());
    }
    let mut holder: JsonMap =
        file.get("tree").and_then(|tree| tree.parse().ok()).unwrap_or_default();
    holder.insert("tree".to_owned(), root);
    file.insert("tree".to_owned(), from_map(&holder));
    from_map(&file)
}
