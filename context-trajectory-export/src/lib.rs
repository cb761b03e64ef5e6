//! Export of trajectories to the formats of other tools.
//!
//! The input is a [`SessionGraph`]: the trajectories of a session's agents, and the selected part
//! of them. Writing is pure, takes time linear in the output, and needs nothing but the graph.
//!
//! | call | format | opened by |
//! |---|---|---|
//! | [`write_mermaid`] | Mermaid flowchart | viewers of Markdown |
//! | [`write_dot`] | Graphviz DOT | Graphviz tools such as `dot` |
//! | [`write_prov_json`] | W3C PROV-JSON | provenance tools |
//! | [`write_atif`], and back [`read_atif`] | ATIF 1.7 | Harbor, and tools for training and evaluation |
//! | [`otlp::write_otlp_json`] | OpenTelemetry, with the attributes for generative AI | Jaeger, Grafana, Phoenix, Langfuse and other viewers of traces |
//! | [`write_chrome_trace`] | Chrome trace events | Perfetto, `chrome://tracing` |
//!
//! ```
//! use std::sync::Arc;
//!
//! use context_core::Timestamp;
//! use context_core::trajectory::{AgentRef, NewQuery, Round};
//! use context_trajectory::{BridgeFrom, SessionGraph, Trajectory};
//! use context_trajectory_export::{write_dot, write_mermaid};
//!
//! let (agent, now) = (AgentRef::main("ada", "trip"), Timestamp::default());
//! let mut round = Round::new(agent.round(0), now);
//! round.ask(NewQuery::new("Where is it warm?"), now)?;
//! let trajectory = Trajectory::new([Arc::new(round)], BridgeFrom::default());
//! let graph = SessionGraph::new("ada", "trip", [(0, trajectory)]);
//!
//! let (mut mermaid, mut dot) = (Vec::new(), Vec::new());
//! write_mermaid(&graph, &Default::default(), &mut mermaid)?;
//! write_dot(&graph, &Default::default(), &mut dot)?;
//! assert!(String::from_utf8(dot)?.starts_with("digraph"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`peer`] reads and writes the files of DataGallery's dataagent.
//!
//! Rounds are not loaded from a store here, and content is not redacted: the caller decides what
//! may be seen. Only [`otlp`] omits content unless told otherwise, since traces go to other
//! programs.

mod atif;
mod chrome;
mod dot;
mod mermaid;
pub mod otlp;
mod otlp_import;
pub mod peer;
mod prov;
mod text;

pub use atif::{AtifError, AtifOptions, read_atif, write_atif};
pub use chrome::write_chrome_trace;
pub use context_trajectory::{
    AgentGraph, AgentNode, Link, LinkKind, RoundGraph, Selection, SessionGraph,
};
pub use dot::write_dot;
pub use mermaid::write_mermaid;
pub use otlp_import::{OtlpError, OtlpImported, is_otlp_json, read_otlp_json};
pub use prov::write_prov_json;
pub use text::DiagramOptions;
