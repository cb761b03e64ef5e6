//! The state of a scenario, in the format of the recording.

use context_runtime::JsonMap;
use context_runtime::trajectory::{
    NodeId, Round, Trajectory, TrajectoryNode, TrajectoryNodeKind, peer,
};
use serde_json::{Value, json};

use super::{Form, World};

impl World {
    /// Returns the content of the round's graph file, in the format of the generation.
    pub(super) fn persisted(&self, round: &Round) -> Value {
        let export = self.export(round);
        let graph: Value = serde_json::from_str(&export.graph).unwrap_or_default();
        let keys_of = |value: &Value| -> Vec<String> {
            let mut keys: Vec<String> =
                value.as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect();
            keys.sort_unstable();
            keys
        };
        let key = if graph.get("edges").is_some() { "edges" } else { "links" };
        let named = |value: &Value, name: &str| value[name].as_str().unwrap_or_default().to_owned();
        let listed = |name: &str| graph[name].as_array().cloned().unwrap_or_default();
        let mut nodes: Vec<String> = listed("nodes").iter().map(|node| named(node, "id")).collect();
        nodes.sort();
        let parts = ["source", "target", "edge_type"];
        let mut edges: Vec<_> =
            listed(key).iter().map(|edge| parts.map(|part| named(edge, part))).collect();
        edges.sort();
        json!({
            "file": format!("Run{}_Sub{}.json", round.round().round, round.round().agent.agent),
            "top_level_keys": keys_of(&graph), "edge_list_key": key, "node_ids": nodes,
                "edges": edges,
            "attrs_of_first_node": keys_of(&graph["nodes"][0])
        })
    }

    pub(super) fn meta(&self, round: &Round) -> Value {
        let file = format!("Run{}_Sub{}.meta.json", round.round().round, round.round().agent.agent);
        let mut content: Value =
            serde_json::from_str(&self.export(round).pointers).unwrap_or_default();
        // The recording sorts them by name.
        if let Some(endpoints) = content["current_pt"].as_array_mut() {
            endpoints.sort_by_key(|endpoint| endpoint.as_str().map(str::to_owned));
        }
        json!({ "file": file, "content": content })
    }

    fn export(&self, round: &Round) -> peer::Export {
        let generation = match self.form {
            Form::Newest => peer::Generation::Second,
            Form::Seed => peer::Generation::First,
        };
        peer::export_round(&round.to_record(), generation)
    }

    /// Returns the context opened last, in the format of the recording.
    pub(crate) async fn picture(&self) -> Value {
        let Some(context) = &self.current else {
            return json!({ "nodes": [], "edges": [], "pointers": [], "start": null, "root": null, "counts": {} });
        };
        let Ok(all) = self.seen(context).await else { return json!("unreadable") };
        let round = context.round();
        let mut nodes: Vec<(String, u32)> =
            all.nodes().map(|node| (node.title().to_string(), node.id.round)).collect();
        nodes.sort();
        let mut edges: Vec<[String; 3]> = all
            .edges()
            .map(|edge| [in_all(&all, edge.from), in_all(&all, edge.to), (*edge.name).to_owned()])
            .collect();
        edges.sort();
        let mut endpoints: Vec<String> = round.endpoints().map(|id| title(&round, id)).collect();
        endpoints.sort();
        let numbers = TrajectoryNodeKind::ALL.iter().zip(round.head().numbers);
        let counts: serde_json::Map<String, Value> = numbers
            .filter(|(_, number)| *number > 0)
            .map(|(kind, number)| (kind.to_string(), json!(number)))
            .collect();
        json!({
            "nodes": nodes, "edges": edges, "pointers": endpoints,
            "start": round.query().map(|query| query.title().to_string()),
            "root": all.root().map(|root| root.title().to_string()),
            "counts": counts
        })
    }
}

pub(super) fn title(round: &Round, id: NodeId) -> String {
    round.node(id).map_or_else(|| id.to_string(), |node| node.title().to_string())
}

pub(super) fn in_all(all: &Trajectory, id: NodeId) -> String {
    all.node(id).map_or_else(|| id.to_string(), |node| node.title().to_string())
}

/// Returns a node and its versions, in the format of the recording.
pub(super) fn record(node: &TrajectoryNode, fields: &[String]) -> Value {
    let versions: serde_json::Map<String, Value> = (node.versions.iter())
        .map(|version| {
            (
                version.number.to_string(),
                serde_json::to_value(&version.previous).unwrap_or_default(),
            )
        })
        .collect();
    let mut record = json!({
        "label": *node.label, "description": *node.description, "run_id": node.id.round, "history": versions
    });
    for field in fields {
        record[field] = node
            .value(field)
            .map_or(Value::Null, |value| serde_json::to_value(value).unwrap_or_default());
    }
    record
}

/// Returns the default content of a field that the scenario does not set.
pub(super) fn defaults(kind: TrajectoryNodeKind) -> JsonMap {
    let given = match kind {
        TrajectoryNodeKind::Action => json!({ "action": "probe" }),
        TrajectoryNodeKind::State => json!({ "content": "" }),
        TrajectoryNodeKind::Response => json!({ "response": "done" }),
        TrajectoryNodeKind::Knowledge => {
            json!({ "knowledge_type": "domain", "knowledge_content": "k" })
        }
        TrajectoryNodeKind::Table => json!({ "path": "/nowhere/t.csv" }),
        TrajectoryNodeKind::Column => json!({ "from_table": "t" }),
        TrajectoryNodeKind::File => json!({ "path": "/nowhere/f.txt", "source": "probe" }),
        TrajectoryNodeKind::Script => json!({ "script_content": "select 1", "script_type": "sql" }),
        TrajectoryNodeKind::Skill => json!({ "path": "/nowhere/skill" }),
        _ => json!({ "query": "q" }),
    };
    let given = if kind == TrajectoryNodeKind::Tool { json!({}) } else { given };
    serde_json::from_value(given).unwrap_or_default()
}
