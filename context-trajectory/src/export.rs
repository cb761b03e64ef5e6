//! Trajectories in the formats of other tools.
//!
//! What is written is a [`SessionGraph`]: the trajectories of the agents of a session, and which
//! part of them is looked at. Writing is pure, takes time in proportion to what is written, and
//! needs nothing but the graph.
//!
//! | call | format | who opens it |
//! |---|---|---|
//! | [`write_mermaid`] | Mermaid flowchart | viewers of Markdown |
//! | [`write_dot`] | Graphviz DOT | `dot` and its kin |
//! | [`write_prov_json`] | W3C PROV-JSON | tools for provenance |
//! | [`write_atif`], and back [`read_atif`] | ATIF 1.7 | Harbor, and who trains or evaluates on its trajectories |
//! | [`write_html`] | a page without network | people, in a browser |
//! | [`otlp::write_otlp_json`] | OpenTelemetry, with the attributes for generative AI | Jaeger, Grafana, Phoenix, Langfuse and other viewers of traces |
//! | [`write_chrome_trace`] | Chrome trace events | Perfetto, `chrome://tracing` |
//!
//! What is not here: asking a store for rounds, and taking content out: whoever exports decides
//! what may be seen. [`otlp`] alone leaves content out until it is told otherwise, since traces go
//! to other programs.

mod atif;
mod chrome;
mod dot;
mod html;
mod mermaid;
pub mod otlp;
mod prov;
mod session;
mod text;

pub use atif::{AtifError, AtifOptions, read_atif, write_atif};
pub use chrome::write_chrome_trace;
pub use dot::write_dot;
pub use html::write_html;
pub use mermaid::write_mermaid;
pub use prov::write_prov_json;
pub use session::{AgentGraph, AgentNode, Link, LinkKind, RoundGraph, Selection, SessionGraph};
pub use text::DiagramOptions;
