//! Preparing the request body of a model call from a chat.

use std::sync::Arc;

use context_runtime::compaction::{CompactionPolicy, POLICIES, Stage, policy};
use context_runtime::tokens::Budget;
use context_runtime::{
    Breakdown, ContextRuntime, DefaultContextRuntime, Diagnostic, Error, ErrorKind, FunctionTool,
    Json, Metadata, PlanReport, Prefix, Result, Tool, provider,
};
use serde::{Deserialize, Serialize};

use crate::json::{JsonArgument, Reply};
use crate::slot::Slot;

/// The options of a preparation.
pub(crate) struct Preparation {
    pub(crate) provider: String,
    pub(crate) model: String,
    pub(crate) window: Option<u64>,
    pub(crate) max_output_tokens: Option<u64>,
    pub(crate) policies: Option<Vec<String>>,
    pub(crate) system: Option<String>,
    pub(crate) tools: Option<JsonArgument>,
}

/// A tool that Python passed.
#[derive(Deserialize)]
pub(crate) struct GivenTool {
    name: String,
    #[serde(default)]
    description: Option<String>,
    input_schema: Json,
}

/// Reads tools: objects with `name`, `description` and `input_schema`.
pub(crate) fn tools(given: Option<&JsonArgument>) -> Result<Vec<Tool>> {
    let given: Vec<GivenTool> = given.map_or(Ok(Vec::new()), |given| given.parse("tools"))?;
    let tool = |given: GivenTool| {
        let mut tool = FunctionTool::new(given.name, given.input_schema);
        tool.description = given.description;
        tool.into()
    };
    Ok(given.into_iter().map(tool).collect())
}

#[derive(Serialize)]
struct Prepared<'a> {
    body: Json,
    headers: Vec<(&'static str, &'static str)>,
    report: Report<'a>,
}

/// Counts, cuts and repairs of a prepared request.
#[derive(Serialize)]
struct Report<'a> {
    messages: usize,
    breakdown: Breakdown,
    total: u64,
    budget: Option<u64>,
    fits: Option<bool>,
    plans: &'a [PlanReport],
    prefix: &'a Prefix,
    metadata: &'a Metadata,
    diagnostics: Vec<Diagnostic>,
}

impl Preparation {
    /// Prepares the body for the chat's branch. Writes nothing.
    pub(crate) async fn prepare(self, slot: &Slot) -> Result<Reply> {
        const OPERATION: &str = "prepare";
        let codec = provider(&self.provider)?;
        let mut builder = DefaultContextRuntime::builder()
            .model(self.model.clone())
            .compaction(policies_named(self.policies.as_deref())?.into_iter().map(Stage::shared));
        if slot.store.blobs().is_some() {
            builder = builder.spill(Arc::clone(&slot.store));
        }
        let runtime = builder.build()?;
        let mut lent = slot.engine().await?;
        let resolved = lent.engine.resolve().await?;
        let mut input = resolved.prepare().tools(tools(self.tools.as_ref())?);
        (input.provider, input.request.model) = (self.provider, Some(self.model));
        input.limits.window = self.window;
        if let Some(tokens) = self.max_output_tokens {
            input = input.max_output_tokens(tokens);
        }
        if let Some(system) = self.system {
            input = input.system(system);
        }
        let context = runtime.prepare_for_model(input).await?;
        let lowered = codec
            .lower(&context.request)
            .map_err(|error| Error::invalid(OPERATION, error.to_string()))?;
        lent.give_back();
        let mut diagnostics = context.diagnostics.clone();
        diagnostics.extend(lowered.diagnostics);
        Reply::json(&Prepared {
            body: lowered.body,
            headers: lowered.headers,
            report: Report {
                messages: context.request.messages.len(),
                breakdown: context.breakdown,
                total: context.breakdown.total().tokens(),
                budget: context.budget.as_ref().map(Budget::input),
                fits: context.fits(),
                plans: &context.plans,
                prefix: &context.prefix,
                metadata: &context.metadata,
                diagnostics,
            },
        })
    }
}

/// Returns the named policies, or all that need no model.
pub(crate) fn policies_named(names: Option<&[String]>) -> Result<Vec<Arc<dyn CompactionPolicy>>> {
    let all: Vec<String> = POLICIES.iter().map(ToString::to_string).collect();
    let known = |name: &String| {
        policy(name).ok_or_else(|| {
            Error::new(ErrorKind::Unsupported, "policies", "no policy of this name")
                .with("policy", name)
                .with("known", POLICIES.join(", "))
        })
    };
    names.unwrap_or(&all).iter().map(known).collect()
}
