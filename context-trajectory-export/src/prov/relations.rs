//! The relations between entities, activities and agents.

use std::collections::{BTreeMap, HashMap};
use std::io;

use context_core::trajectory::{TrajectoryNode, TrajectoryNodeKind, edge};
use indexmap::IndexMap;
use serde::Serialize;
use serde_json::{Value, json};

use super::names::{USER, agent_id, name, now_name, version_name};
use context_trajectory::{AgentGraph, AgentNode, Link, LinkKind, SessionGraph};

/// A relation: its roles and attributes.
#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct Relation(IndexMap<String, Value>);

impl Relation {
    fn of<const N: usize>(roles: [(&str, String); N]) -> Self {
        Self(roles.into_iter().map(|(role, name)| (role.to_owned(), name.into())).collect())
    }

    fn by(mut self, edge: &str) -> Self {
        self.0.insert("context:edge".into(), edge.into());
        self
    }

    fn revision(mut self) -> Self {
        let kind = json!({ "$": "prov:Revision", "type": "prov:QUALIFIED_NAME" });
        self.0.insert("prov:type".into(), kind);
        self
    }
}

type Put<'a> = &'a mut dyn FnMut(&'static str, &Relation) -> io::Result<()>;

fn derived(new: String, old: String) -> Relation {
    Relation::of([("prov:generatedEntity", new), ("prov:usedEntity", old)])
}

fn generated(entity: String, activity: String) -> Relation {
    Relation::of([("prov:entity", entity), ("prov:activity", activity)])
}

fn used(activity: String, entity: String) -> Relation {
    Relation::of([("prov:activity", activity), ("prov:entity", entity)])
}

/// Writes on whose behalf an agent acts.
pub(super) fn agent_relations(
    graph: &SessionGraph,
    agent: &AgentGraph<'_>,
    put: Put<'_>,
) -> io::Result<()> {
    let delegate = agent_id(agent.number());
    let mut callers: BTreeMap<u32, AgentNode> = BTreeMap::new();
    for parent in agent.rounds().filter_map(|round| round.parent()) {
        callers.entry(parent.agent).or_insert(parent);
    }
    callers.retain(|_, caller| graph.shows(*caller));
    if callers.is_empty() {
        let roles = [("prov:delegate", delegate), ("prov:responsible", USER.to_owned())];
        return put("actedOnBehalfOf", &Relation::of(roles));
    }
    for (number, caller) in callers {
        let roles = [("prov:delegate", delegate.clone()), ("prov:responsible", agent_id(number))];
        let mut relation = Relation::of(roles);
        if graph.node(caller).is_some_and(|node| node.kind().is_computation()) {
            relation.0.insert("prov:activity".into(), name(caller).into());
        }
        put("actedOnBehalfOf", &relation)?;
    }
    Ok(())
}

/// Writes a node's agent, and the revisions of the node.
pub(super) fn node_relations(id: AgentNode, node: &TrajectoryNode, put: Put<'_>) -> io::Result<()> {
    if node.kind().is_computation() {
        let by_user = id.agent == 0 && node.kind() == TrajectoryNodeKind::Query;
        let agent = if by_user { USER.to_owned() } else { agent_id(id.agent) };
        let roles = [("prov:activity", name(id)), ("prov:agent", agent)];
        put("wasAssociatedWith", &Relation::of(roles))?;
    } else {
        let roles = [("prov:entity", name(id)), ("prov:agent", agent_id(id.agent))];
        put("wasAttributedTo", &Relation::of(roles))?;
    }
    let Some(last) = node.versions.last() else { return Ok(()) };
    for pair in node.versions.windows(2) {
        let [old, new] = [&pair[0], &pair[1]].map(|version| version_name(id, version.number));
        put("wasDerivedFrom", &derived(new, old).revision())?;
    }
    let now = if node.kind().is_computation() {
        put("wasGeneratedBy", &generated(now_name(id), name(id)))?;
        now_name(id)
    } else {
        name(id)
    };
    put("wasDerivedFrom", &derived(now, version_name(id, last.number)).revision())
}

/// Writes the relations of the edges.
pub(super) fn link_relations(graph: &SessionGraph, put: Put<'_>) -> io::Result<()> {
    let mut makers: HashMap<AgentNode, AgentNode> = HashMap::new();
    for link in graph.links() {
        let Link { from, to, kind, name: edge, .. } = &link;
        let is_computation =
            |id: &AgentNode| graph.node(*id).is_some_and(|node| node.kind().is_computation());
        let (source, target) = (name(*from), name(*to));
        let came_with = [edge::HAS_ADDITIONAL_FILE, edge::HAS_ADDITIONAL_TABLE].contains(&&**edge);
        match (is_computation(from), is_computation(to)) {
            (true, true) => {
                let roles = [("prov:informed", target), ("prov:informant", source)];
                put("wasInformedBy", &Relation::of(roles).by(edge))?;
            }
            (true, false) if came_with || *kind == LinkKind::Reference => {
                put("used", &used(source, target).by(edge))?;
            }
            (true, false) => {
                makers.insert(*to, *from);
                put("wasGeneratedBy", &generated(target, source).by(edge))?;
            }
            (false, true) => put("used", &used(target, source).by(edge))?,
            (false, false) => {
                put("wasDerivedFrom", &derived(target.clone(), source).by(edge))?;
                if let Some(maker) = makers.get(from).copied() {
                    makers.insert(*to, maker);
                    put("wasGeneratedBy", &generated(target, name(maker)).by(edge))?;
                }
            }
        }
    }
    Ok(())
}
