//! Reading ATIF into rounds.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use context_core::trajectory::{
    AgentRef, Round, RoundHead, RoundRecord, TrajectoryNode, TrajectoryNodeKind,
};
use context_core::{Json, SessionId, UserId};
use serde::Deserialize;

use super::error::AtifError;
use super::form::{AgentExtra, Call, Document, NodeExtra, Step, VERSION, ours};
use super::importer::Importer;

/// Reads an ATIF document: the rounds of all its agents, by agent and number, with the given user
/// and session. The rounds are not stored yet, so their revision is 0.
///
/// A document of [`write_atif`](super::write_atif) gives the same rounds again. In other documents
/// a user step starts a round, an agent step becomes a conclusion with its actions, the last agent
/// step without calls becomes the answer, and system messages become knowledge. Sub-agents are
/// numbered in the order in which they are embedded. Token ids, log probabilities, effort, tool
/// definitions and `extra` data of other programs are lost. Parts that are not text are replaced by
/// a note.
///
/// Fails for other formats, for versions other than 1, and for graphs that could not have been
/// recorded.
pub fn read_atif(
    text: &str,
    user: impl Into<UserId>,
    session: impl Into<SessionId>,
) -> Result<Vec<Round>, AtifError> {
    let root: Document = serde_json::from_str(text)?;
    if !root.schema_version.starts_with("ATIF-v1.") {
        return Err(AtifError::UnknownVersion);
    }
    let agent = AgentRef::main(user, session);
    let is_ours =
        ours::<ContextMark>(root.extra.as_ref()).is_some_and(|mark| mark.version == VERSION);
    if !is_ours {
        return Importer::new(agent).documents(root);
    }
    let mut rounds = Vec::new();
    let mut root = root;
    let others = root.subagent_trajectories.take().unwrap_or_default();
    for document in std::iter::once(root).chain(others) {
        read_agent(document, &agent, &mut rounds)?;
    }
    let mut seen = HashSet::new();
    match rounds.iter().find(|round| !seen.insert(round.round().clone())) {
        Some(_) => Err(AtifError::Damaged { part: "a round" }),
        None => Ok(rounds),
    }
}

/// The mark of documents written by this crate.
#[derive(Deserialize)]
struct ContextMark {
    version: u32,
}

fn read_agent(
    document: Document,
    main: &AgentRef,
    rounds: &mut Vec<Round>,
) -> Result<(), AtifError> {
    let damaged = |part| AtifError::Damaged { part };
    let known: AgentExtra = ours(document.extra.as_ref()).ok_or(damaged("an agent"))?;
    let agent = AgentRef { agent: known.agent, ..main.clone() };
    let mut nodes: BTreeMap<u32, Vec<Arc<TrajectoryNode>>> = BTreeMap::new();
    for step in document.steps {
        read_step(step, &mut |node| nodes.entry(node.id.round).or_default().push(Arc::new(node)))?;
    }
    for mut extra in known.rounds {
        let mut nodes = nodes.remove(&extra.round).unwrap_or_default();
        nodes.append(&mut extra.nodes);
        nodes.sort_by_key(|node| node.id);
        let mut head = extra.head(agent.round(extra.round));
        let query = nodes.iter().find(|node| Some(node.id.ordinal) == head.query);
        let title = query.map_or("", |query| query.body.headline());
        head.title = title[..title.floor_char_boundary(RoundHead::TITLE_BYTES)].into();
        rounds.push(Round::from_record(RoundRecord::new(head, nodes, extra.edges))?);
    }
    if nodes.is_empty() { Ok(()) } else { Err(damaged("a round")) }
}

fn read_step(step: Step, put: &mut dyn FnMut(TrajectoryNode)) -> Result<(), AtifError> {
    if let Some(known) = ours::<NodeExtra>(step.extra.as_ref()) {
        let text = match known.kind()? {
            TrajectoryNodeKind::Query => "query",
            TrajectoryNodeKind::State => "content",
            TrajectoryNodeKind::Response => "response",
            _ => return Err(AtifError::Damaged { part: "a step" }),
        };
        let thoughts = step.reasoning_content.as_deref().map(Json::from);
        put(known.node([(text, Some(step.message.clone())), ("reasoning_content", thoughts)])?);
    }
    let mut results: BTreeMap<String, Json> = BTreeMap::new();
    for result in step.observation.into_iter().flat_map(|observation| observation.results) {
        if let (Some(call), Some(content)) = (result.source_call_id, result.content) {
            results.insert(call, content);
        }
    }
    for call in step.tool_calls.into_iter().flatten() {
        let output = results.remove(&call.tool_call_id);
        put(read_call(call, output)?);
    }
    Ok(())
}

fn read_call(call: Call, output: Option<Json>) -> Result<TrajectoryNode, AtifError> {
    let damaged = AtifError::Damaged { part: "a call" };
    let Some(known) = ours::<NodeExtra>(call.extra.as_ref()) else { return Err(damaged) };
    let output = match output {
        Some(text) if known.json => {
            let text = text.to_text().and_then(|text| Json::from_text(text).ok());
            Some(text.ok_or(damaged)?)
        }
        other => other,
    };
    let name = Json::from(&*call.function_name);
    known.node([("action", Some(name)), ("params", Some(call.arguments)), ("output", output)])
}
