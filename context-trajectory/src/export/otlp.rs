//! OpenTelemetry traces, with the attributes for generative AI.
//!
//! | in a session | in the traces |
//! |---|---|
//! | session | `gen_ai.conversation.id` |
//! | round of the main agent | a trace with the span `invoke_agent` |
//! | round of a sub-agent | the span `invoke_agent` below that of the node that called it |
//! | conclusion | the span `chat`, with tokens |
//! | action | the span `execute_tool`, with its tool, its call, and `error.type` if it failed |
//! | data | an event of the span that it hangs on |
//! | answer | an event of the round |
//! | edges that are not those from a round's question, references, bridges | links between spans, with the name of the edge |
//!
//! Spans stand right below their round and not below what they follow: a run of a thousand steps
//! would be a thousand deep, and what follows is not part of what it follows. Ids come from the
//! names of user and session and the numbers of nodes, so the same session is the same traces
//! whenever it is written, and one may send it again.
//!
//! What is not here: metrics, logs, and spans while they run.

mod form;
mod ids;
pub mod names;
#[cfg(feature = "otlp")]
mod send;
mod spans;

use std::io::{self, Write};
use std::sync::Arc;

use super::session::SessionGraph;
use form::{Attributes, Resource, ResourceSpans, Scope, ScopeSpans, Span, Traces};
use names::attribute;
use spans::spans;

#[cfg(feature = "otlp")]
pub use send::{Collector, SendError, Sent};

/// What is written of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OtlpOptions {
    /// The program that the traces are of.
    pub service: Arc<str>,
    /// Whether questions, conclusions, answers, and what tools are called with and return are
    /// written. Traces go to other programs, so nothing of it is unless this says so. Names of
    /// tools, labels and paths are written either way.
    pub content: bool,
}

impl Default for OtlpOptions {
    /// Of `context`, without content.
    fn default() -> Self {
        Self { service: "context".into(), content: false }
    }
}

impl OtlpOptions {
    /// Of this program.
    #[must_use]
    pub fn service(mut self, name: impl Into<Arc<str>>) -> Self {
        self.service = name.into();
        self
    }

    /// With content.
    #[must_use]
    pub fn with_content(mut self) -> Self {
        self.content = true;
        self
    }
}

/// Writes a graph as traces in the JSON of OTLP, as collectors take it and read it from files.
/// Errors are those of the writer.
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
