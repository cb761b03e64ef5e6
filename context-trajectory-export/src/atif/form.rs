//! The JSON of ATIF, and the extensions for data that ATIF has no place for.

use std::sync::Arc;

use context_core::base::JsonMap;
use context_core::trajectory::{
    Edge, ParentNode, Queues, RoundHead, RoundRef, RoundState, TrajectoryNode, TrajectoryNodeKind,
};
use context_core::{Json, Timestamp};
use serde::{Deserialize, Serialize};

use super::error::AtifError;

/// The key of this crate's data in every `extra`.
pub(super) const CONTEXT: &str = "context";
/// The version of that data.
pub(super) const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
pub(super) struct Document {
    pub(super) schema_version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) trajectory_id: Option<String>,
    pub(super) agent: Agent,
    pub(super) steps: Vec<Step>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) final_metrics: Option<FinalMetrics>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) extra: Option<JsonMap>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) subagent_trajectories: Option<Vec<Document>>,
}

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Agent {
    pub(super) name: String,
    pub(super) version: String,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Step {
    pub(super) step_id: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) timestamp: Option<String>,
    pub(super) source: Source,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) model_name: Option<String>,
    /// Text, or a list of parts.
    pub(super) message: Json,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_calls: Option<Vec<Call>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) observation: Option<Observation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) metrics: Option<Metrics>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) is_copied_context: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) extra: Option<JsonMap>,
}

impl Step {
    pub(super) fn new(source: Source, message: &str) -> Self {
        Self {
            step_id: 0,
            timestamp: None,
            source,
            model_name: None,
            message: Json::from(message),
            reasoning_content: None,
            tool_calls: None,
            observation: None,
            metrics: None,
            is_copied_context: None,
            extra: None,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Source {
    System,
    User,
    Agent,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Call {
    pub(super) tool_call_id: String,
    pub(super) function_name: String,
    pub(super) arguments: Json,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) extra: Option<JsonMap>,
}

#[derive(Default, Serialize, Deserialize)]
pub(super) struct Observation {
    pub(super) results: Vec<CallResult>,
}

#[derive(Default, Serialize, Deserialize)]
pub(super) struct CallResult {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) source_call_id: Option<String>,
    /// Text, or a list of parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) content: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) subagent_trajectory_ref: Option<Vec<SubagentRef>>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct SubagentRef {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) trajectory_id: Option<String>,
}

#[derive(Default, Serialize, Deserialize)]
pub(super) struct Metrics {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) prompt_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cached_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cost_usd: Option<f64>,
}

#[derive(Default, Serialize, Deserialize)]
pub(super) struct FinalMetrics {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) total_prompt_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) total_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) total_cached_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) total_cost_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) total_steps: Option<u64>,
}

/// The extension of a trajectory.
#[derive(Serialize, Deserialize)]
pub(super) struct AgentExtra {
    pub(super) version: u32,
    pub(super) agent: u32,
    pub(super) rounds: Vec<RoundExtra>,
}

/// The extension of a round: its head without the ids that the importing caller supplies, and the
/// nodes that are not steps.
#[derive(Serialize, Deserialize)]
pub(super) struct RoundExtra {
    pub(super) round: u32,
    pub(super) state: RoundState,
    pub(super) query: Option<u32>,
    pub(super) endpoints: Vec<u32>,
    pub(super) next: u32,
    pub(super) numbers: [u32; TrajectoryNodeKind::ALL.len()],
    #[serde(default, skip_serializing_if = "Queues::is_empty")]
    pub(super) queues: Queues,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) parent: Option<ParentNode>,
    pub(super) created_at: Timestamp,
    pub(super) updated_at: Timestamp,
    pub(super) nodes: Vec<Arc<TrajectoryNode>>,
    pub(super) edges: Vec<Edge>,
}

impl RoundExtra {
    pub(super) fn of(head: RoundHead, nodes: Vec<Arc<TrajectoryNode>>, edges: Vec<Edge>) -> Self {
        Self {
            round: head.round.round,
            state: head.state,
            query: head.query,
            endpoints: head.endpoints,
            next: head.next,
            numbers: head.numbers,
            queues: head.queues,
            parent: head.parent,
            created_at: head.created_at,
            updated_at: head.updated_at,
            nodes,
            edges,
        }
    }

    /// Returns the head of a round that is not stored yet.
    pub(super) fn head(&self, round: RoundRef) -> RoundHead {
        let mut head = RoundHead::new(round, self.created_at);
        head.state = self.state;
        head.query = self.query;
        head.endpoints = self.endpoints.clone();
        head.next = self.next;
        head.numbers = self.numbers;
        head.queues = self.queues.clone();
        head.parent = self.parent;
        head.updated_at = self.updated_at;
        head
    }
}

/// The extension of a step or a call: the node without the fields that ATIF has a place for.
#[derive(Serialize, Deserialize)]
pub(super) struct NodeExtra {
    pub(super) node: Json,
    /// Whether the result is JSON rather than text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) json: bool,
}

impl NodeExtra {
    /// Returns the extension for a node without the `placed` fields.
    pub(super) fn of(
        node: &TrajectoryNode,
        placed: &[&str],
        json: bool,
    ) -> serde_json::Result<Self> {
        let mut map: JsonMap = Json::from_serialize(node)?.parse()?;
        let mut fields: JsonMap =
            map.get("fields").map(Json::parse).transpose()?.unwrap_or_default();
        fields.retain(|name, _| !placed.contains(&name.as_str()));
        map.insert("fields".into(), Json::from_serialize(&fields)?);
        Ok(Self { node: Json::from_serialize(&map)?, json })
    }

    /// Returns the node with the fields that were stored in other places. The node's own fields
    /// take precedence.
    pub(super) fn node<const N: usize>(
        &self,
        placed: [(&str, Option<Json>); N],
    ) -> Result<TrajectoryNode, AtifError> {
        let damaged = |_| AtifError::Damaged { part: "a node" };
        let mut map: JsonMap = self.node.parse().map_err(damaged)?;
        let fields = map.get("fields").map(Json::parse).transpose().map_err(damaged)?;
        let mut fields: JsonMap = fields.unwrap_or_default();
        for (name, value) in placed {
            if let Some(value) = value {
                fields.entry(name.to_owned()).or_insert(value);
            }
        }
        let fields = Json::from_serialize(&fields).map_err(damaged)?;
        map.insert("fields".into(), fields);
        Json::from_serialize(&map).and_then(|node| node.parse()).map_err(damaged)
    }

    pub(super) fn kind(&self) -> Result<TrajectoryNodeKind, AtifError> {
        #[derive(Deserialize)]
        struct Kind {
            #[serde(rename = "type")]
            kind: TrajectoryNodeKind,
        }
        self.node
            .parse::<Kind>()
            .map(|node| node.kind)
            .map_err(|_| AtifError::Damaged { part: "a node" })
    }
}

/// Returns this crate's data in an `extra`.
pub(super) fn ours<T: serde::de::DeserializeOwned>(extra: Option<&JsonMap>) -> Option<T> {
    extra?.get(CONTEXT)?.parse().ok()
}

/// Returns an `extra` with this crate's data.
pub(super) fn extra(value: &impl Serialize) -> serde_json::Result<Option<JsonMap>> {
    let mut map = JsonMap::new();
    map.insert(CONTEXT.into(), Json::from_serialize(value)?);
    Ok(Some(map))
}
