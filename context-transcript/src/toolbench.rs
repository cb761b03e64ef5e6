//! Answer trees of ToolBench: a search over thoughts, actions and their inputs, with all attempts.
//!
//! | file | chat |
//! |---|---|
//! | the root of `tree.tree` | the user message, with the text of `answer_generation.query` |
//! | the system prompt of `answer_generation.train_messages` | a system message before it |
//! | `Thought`, `Action`, `Action Input` in sequence | one assistant message with a text and a tool call |
//! | a node with several children | the message that ends with it has several successors |
//! | an `Action` with several inputs | a message without text; each input is a message with the call |
//! | `observation` | a tool message |
//! | every leaf | the end of a branch; `main` leads to the final answer, `main-v2` and so on to the others |
//! | everything besides the tree | kept in the [sidecar](crate::sidecar) |
//!
//! The other data of the nodes (scores, states) is in the metadata of the messages under [`KEY`]:
//! the position of the message's first node, counted from the root down and from left to right, and
//! a patch from the message to the nodes. No text is stored twice.

mod nodes;
mod write;

use context_codec_kit::JsonPatch;
use context_core::base::JsonMap;
use context_core::message::ToolInput;
use context_core::{Json, Message, Metadata, Node, Part, Role, Timestamp, ToolCall};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use self::nodes::{Arena, Group};
pub(crate) use self::write::write;
use crate::chat::{TranscriptChat, data, title};
use crate::raw::{entries, first};
use crate::read::unknown_form;
use crate::sidecar::{self, SidecarEntry};
use crate::{
    FileLayout, FileText, FormProblem, Format, TranscriptError, TranscriptSource, Tree, TreeError,
};

/// The metadata key for the original nodes of a message.
pub(crate) const KEY: &str = "toolbench";

/// The name of a data part for other content of the file.
const FILE: &str = "toolbench.file";

/// The original nodes of a message.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct OriginalNodes {
    /// The position of the first node. `None` for a message made from other parts of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    place: Option<usize>,
    /// The patch from the message to the nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    patch: Option<Json>,
}

impl OriginalNodes {
    fn metadata(&self) -> Metadata {
        Metadata::default()
            .with(KEY, Json::from_serialize(self).expect("text keys and JSON values"))
    }
}

/// Returns whether a value is an answer tree.
pub(crate) fn is_tree(raw: &RawValue) -> bool {
    let root = || entries(entries(raw)?.remove("tree")?)?.remove("tree").and_then(entries);
    raw.get().contains("\"node_type\"") && root().is_some_and(|root| root.contains_key("children"))
}

/// Reads an answer tree.
pub(crate) fn read(
    file: &FileText,
    raw: &RawValue,
    layout: FileLayout,
    place: (usize, usize),
    at: Timestamp,
) -> Result<TranscriptChat, TranscriptError> {
    let format = Format::Toolbench;
    let unknown = |problem| unknown_form(file, raw.get(), Some(format), problem);
    let no_tree = || unknown(FormProblem::NoTree);
    if first(raw) != '{' {
        return Err(no_tree());
    }
    let object = |text: &str| {
        serde_json::from_str::<JsonMap>(text).map_err(|error| file.syntax_error(raw.get(), error))
    };
    let mut envelope = object(raw.get())?;
    let holder =
        envelope.get("tree").filter(|tree| tree.as_str().starts_with('{')).ok_or_else(no_tree)?;
    let mut holder = object(holder.as_str())?;
    let root = holder.insert("tree".to_owned(), serde_json::Value::Null.into());
    let root = root.filter(|root| root.as_str().starts_with('{')).ok_or_else(no_tree)?;
    let arena = Arena::read(&root).map_err(unknown)?;
    let question = Question::read(&envelope);
    envelope.insert(
        "tree".to_owned(),
        Json::from_serialize(&holder).expect("text keys and JSON values"),
    );

    let mut source = TranscriptSource::new(file.name(), format, layout, place);
    let tree = tree(&arena, &question, envelope, at);
    let (tree, sidecar) = tree.map_err(|source| file.tree_error(format, source))?;
    source.sidecar = sidecar;
    let title = title(tree.nodes());
    Ok(TranscriptChat { source, title, tree, diagnostics: Vec::new() })
}

/// The question to the model.
#[derive(Default)]
struct Question {
    system: Option<String>,
    user: String,
    answer: Option<String>,
}

impl Question {
    /// Reads the question, as far as the file contains it.
    fn read(file: &JsonMap) -> Self {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Generation {
            query: Option<Json>,
            final_answer: Option<Json>,
            train_messages: Option<Json>,
        }
        let generation =
            file.get("answer_generation").and_then(|json| json.parse::<Generation>().ok());
        let generation = generation.unwrap_or_default();
        let chats =
            generation.train_messages.and_then(|json| json.parse::<Vec<Vec<JsonMap>>>().ok());
        let chat = chats.and_then(|chats| chats.into_iter().next()).unwrap_or_default();
        let text_by = |role: &str| {
            let is = |message: &&JsonMap| {
                message.get("role").and_then(Json::to_text).as_deref() == Some(role)
            };
            chat.iter().find(is)?.get("content")?.to_text()
        };
        let text = |json: Option<Json>| json.and_then(|json| json.to_text());
        Self {
            system: text_by("system"),
            user: text(generation.query).or_else(|| text_by("user")).unwrap_or_default(),
            answer: text(generation.final_answer),
        }
    }
}

fn tree(
    arena: &Arena,
    question: &Question,
    envelope: JsonMap,
    at: Timestamp,
) -> Result<(Tree, Vec<SidecarEntry>), TreeError> {
    let mut tree = Tree::default();
    let mut before = None;
    if let Some(system) = &question.system {
        let message = Message::text(Role::System, system.as_str())
            .with_metadata(OriginalNodes::default().metadata());
        before = Some(tree.add(Node::new("system", message, at), None)?);
    }
    // For each node that is the last of a message, the end of its messages.
    let mut ends = vec![None; arena.nodes.len()];
    for group in arena.groups() {
        let behind = match arena.nodes[group.first()].parent {
            Some(parent) => ends[parent],
            None => before,
        };
        let (message, answer) = messages(arena, &group, question);
        let id = format!("t{}", group.first());
        let mut end = tree.add(Node::new(id.as_str(), message, at), behind)?;
        if let Some(answer) = answer {
            end = tree.add(Node::new(format!("{id}-result"), answer, at), Some(end))?;
        }
        ends[group.last()] = Some(end);
    }
    for (version, leaf) in arena.leaves(question.answer.as_deref()).into_iter().enumerate() {
        let name = if version == 0 { "main".to_owned() } else { format!("main-v{}", version + 1) };
        if let Some(end) = ends[leaf] {
            tree.branch(name, end)?;
        }
    }
    let entry = |(at, (key, value)): (usize, (String, Json))| {
        let value = Json::from_serialize(&JsonMap::from_iter([(key, value.compact())]));
        SidecarEntry { at, value: value.expect("text keys and JSON values") }
    };
    let sidecar = sidecar::store(
        envelope.into_iter().enumerate().map(entry).collect(),
        &mut tree,
        |_| FILE.to_owned(),
        |entry| OriginalNodes { place: Some(entry.at), patch: None }.metadata(),
        |entry| format!("file-{}", entry.at),
        at,
    )?;
    Ok((tree, sidecar))
}

/// Returns the message of a group of nodes, and the observation of the tool it calls.
fn messages(arena: &Arena, group: &Group, question: &Question) -> (Message, Option<Message>) {
    let (first, last) = (group.first(), &arena.nodes[group.last()]);
    if arena.nodes[first].parent.is_none() {
        let message = Message::text(Role::User, question.user.as_str());
        return (with_nodes(message, first, &arena.originals(group, false)), None);
    }
    let mut parts = Vec::new();
    for index in &group.nodes {
        let node = &arena.nodes[*index];
        match node.kind.as_str() {
            "Thought" => parts.push(Part::text(node.description.as_str())),
            "Action Input" => parts.push(Part::ToolCall(ToolCall {
                id: format!("call_{index}"),
                name: arena.action_of(*index).to_owned(),
                input: ToolInput::from_written(node.description.as_str()),
                metadata: Metadata::default(),
            })),
            // The call that follows contains its name.
            "Action" if group.last() != *index => {}
            kind => {
                parts.push(data(format!("{KEY}.{kind}"), Json::from(node.description.as_str())))
            }
        }
    }
    let observation = last.observation.as_deref().filter(|_| last.kind == "Action Input");
    let message = Message::new(Role::Assistant, parts);
    let message = with_nodes(message, first, &arena.originals(group, observation.is_some()));
    let answer = observation.map(|text| {
        let message =
            Message::new(Role::Tool, [Part::tool_result(format!("call_{}", group.last()), text)]);
        with_nodes(message, group.last(), &last.answer())
    });
    (message, answer)
}

/// Returns the message with the patch to its nodes.
fn with_nodes(message: Message, first: usize, original: &Json) -> Message {
    let patch = JsonPatch::between(&nodes::plain(&message), original).map(JsonPatch::into_json);
    message.with_metadata(OriginalNodes { place: Some(first), patch }.metadata())
}
