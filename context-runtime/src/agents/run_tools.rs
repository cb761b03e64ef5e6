//! Running the tools that a model called.

use std::any::Any;
use std::panic::AssertUnwindSafe;

use context_core::{ToolCall, ToolResult};
use futures_util::{FutureExt, StreamExt, stream};
use tracing::Instrument;

use super::{ToolContext, ToolFunction};
use crate::observer::BegunTool;
use crate::trace;

/// The decision about a tool call before the tool runs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Approval {
    /// The tool runs.
    Run,
    /// The tool does not run. The model is told so, with this reason.
    Refuse(String),
}

/// Decides about a tool call before the tool runs.
pub(super) type Approve<'c> =
    dyn Fn(ToolCall) -> futures_util::future::BoxFuture<'c, Approval> + Send + Sync + 'c;

/// Runs the tools of these calls, at most `concurrency` at once, and returns the results in the
/// order of the calls. Never fails: an unknown tool, a refusal, an error and a panic are results.
pub(super) async fn run(
    functions: &[ToolFunction],
    approve: Option<&Approve<'_>>,
    concurrency: usize,
    calls: Vec<(ToolCall, ToolContext)>,
) -> Vec<ToolResult> {
    let run = |(call, context): (ToolCall, ToolContext)| async move {
        let Some(function) = functions.iter().find(|function| function.tool().name == call.name)
        else {
            let names: Vec<_> = functions.iter().map(|function| &*function.tool().name).collect();
            return call.error(format!(
                "There is no tool {}. The tools are: {}.",
                call.name,
                names.join(", ")
            ));
        };
        if let Some(approve) = approve
            && let Approval::Refuse(reason) = approve(call.clone()).await
        {
            return call.error(format!("The tool was not run: {reason}"));
        }
        let span = trace::tool(context.chat(), &call.name, &call.id);
        let mut begun = BegunTool::new(context.agents.runtime().observer(), &context.turn, &call);
        let running = function.run(call.clone(), context).instrument(span);
        let result = AssertUnwindSafe(running).catch_unwind().await.unwrap_or_else(|panic| {
            let text = panic_text(&*panic);
            tracing::warn!(tool = %call.name, panic = text, "a tool panicked");
            call.error("The tool failed unexpectedly.")
        });
        begun.failed = result.is_error;
        result
    };
    stream::iter(calls).map(run).buffered(concurrency.max(1)).collect().await
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    match panic.downcast_ref::<&'static str>() {
        Some(text) => text,
        None => panic.downcast_ref::<String>().map_or("", String::as_str),
    }
}
