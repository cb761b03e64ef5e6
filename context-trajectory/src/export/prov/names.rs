//! What things are called in a document.

use super::super::session::{AgentNode, SessionGraph};

/// The name space of a session.
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

/// What an activity that was changed is now: an activity itself is no revision of anything.
pub(super) fn now_name(id: AgentNode) -> String {
    format!("{}.now", name(id))
}

/// A text that can stand between the colons of a name space.
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
