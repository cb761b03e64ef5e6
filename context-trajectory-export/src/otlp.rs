//! Export to OpenTelemetry traces, with the attributes for generative AI.
//!
//! | session | traces |
//! |---|---|
//! | session | `gen_ai.conversation.id` |
//! | round of the main agent | a trace with the span `invoke_agent` |
//! | round of a sub-agent | the span `invoke_agent` as a child of the span of the node that called it |
//! | conclusion | the span `chat`, with tokens |
//! | action | the span `execute_tool`, with tool, call id, and `error.type` if it failed |
//! | data | an event of the span of the node it belongs to |
//! | answer | an event of the round |
//! | references, bridges, and edges other than those from a round's question | links between spans, with the name of the edge |
//!
//! The spans of nodes are children of their round's span, not of their predecessor's: a run of a
//! thousand steps would otherwise be nested a thousand levels deep, and a successor is not part of
//! its predecessor. Ids are derived from the user, the session and the node numbers. The same
//! session thus always gives the same traces, and sending them again is idempotent.
//!
//! Metrics, logs and live spans are not supported.

mod form;
mod ids;
pub mod names;
#[cfg(feature = "otlp")]
mod send;
mod spans;

use std::io::{self, Write};
use std::sync::Arc;

use context_trajectory::SessionGraph;
use form::{Attributes, Resource, ResourceSpans, Scope, ScopeSpans, Span, Traces};
use names::attribute;
use spans::spans;

#[cfg(feature = "otlp")]
pub use send::{Collector, SendError, Sent};

/// Options for writing traces.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OtlpOptions {
    /// The service name of the traces.
    pub service: Arc<str>,
    /// Whether the text of questions, conclusions and answers, and the inputs and outputs of tools
    /// are written. Off by default, since traces go to other programs. Names of tools, labels and
    /// paths are written in either case.
    pub content: bool,
}

impl Default for OtlpOptions {
    /// Returns options for the service `context`, without content.
    fn default() -> Self {
        Self { service: "context".into(), content: false }
    }
}

impl OtlpOptions {
    /// Sets the service name.
    #[must_use]
    pub fn service(mut self, name: impl Into<Arc<str>>) -> Self {
        self.service = name.into();
        self
    }

    /// Includes content.
    #[must_use]
    pub fn with_content(mut self) -> Self {
        self.content = true;
        self
    }
}

/// Writes a graph as traces in OTLP JSON, which collectors accept and read from files. Returns the
/// errors of the writer.
pub fn write_otlp_json(
    graph: &SessionGraph,
    options: &OtlpOptions,
    out: impl Write,
) -> io::Result<()> {
    write_spans(&spans(graph, options.content), options, out)
}

fn write_spans(spans: &[Span], options: &OtlpOptions, out: impl Write) -> io::Result<()> {
    let scope = Scope { name: env!("CARGO_PKG_NAME"), version: env!("CARGO_PKG_VERSION") };
    let attributes = Attributes::default().text(attribute::SERVICE, &*options.service);
    let scope_spans = [ScopeSpans { scope, spans }];
    let resource_spans = [ResourceSpans { resource: Resource { attributes }, scope_spans }];
    Ok(serde_json::to_writer(out, &Traces { resource_spans })?)
}
