//! Identifiers in a PROV document.

use context_trajectory::{AgentNode, SessionGraph};

/// Returns the namespace of a session.
pub(super) fn space(graph: &SessionGraph) -> String {
    format!("urn:context:{}:{}:", escaped(graph.user().as_str()), escaped(graph.session().as_str()))
}

pub(super) const USER: &str = "run:user";

pub(super) fn agent_id(number: u32) -> String {
    format!("run:agent{number}")
}

pub(super) fn name(id: AgentNode) -> String {
    format!("run:a{}.r{}.n{}", id.agent, id.node.round, id.node.ordinal)
}

pub(super) fn version_name(id: AgentNode, number: u32) -> String {
    format!("{}.v{number}", name(id))
}

/// Returns the name of a changed activity's current state. An activity itself cannot be a revision.
pub(super) fn now_name(id: AgentNode) -> String {
    format!("{}.now", name(id))
}

/// Escapes a text for use between the colons of a namespace.
fn escaped(text: &str) -> String {
    let mut name = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => name.push(byte.into()),
            byte => name.push_str(&format!("%{byte:02X}")),
        }
    }
    name
}
