//! The spans that mean something here: those of agents, models and tools.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use context_core::Timestamp;
use context_core::trajectory::Measures;
use serde_json::{Map, Value};

use super::attributes::{count, json, text};
use super::document::RawSpan;
use super::error::OtlpError;
use super::messages::Conversation;
use super::parents::{Parents, cut_circles, nearest};

/// The meaning of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpanKind {
    Agent,
    Model,
    /// A tool, or another step with an input and an output.
    Tool,
}

pub(super) struct Span {
    pub(super) session: String,
    pub(super) trace: String,
    pub(super) id: String,
    /// The nearest span around it that means something.
    pub(super) parent: Option<String>,
    /// The nearest agent around it.
    pub(super) agent: Option<String>,
    pub(super) kind: SpanKind,
    pub(super) name: String,
    pub(super) start: Timestamp,
    pub(super) end: Option<Timestamp>,
    pub(super) error: Option<Arc<str>>,
    pub(super) messages: Conversation,
    pub(super) attributes: Map<String, Value>,
}

/// Attributes that become parts of nodes, and names that begin such lists.
const READ: [&str; 49] = [
    "gen_ai.operation.name",
    "gen_ai.conversation.id",
    "session.id",
    "openinference.span.kind",
    "gen_ai.provider.name",
    "gen_ai.system",
    "llm.provider",
    "llm.system",
    "gen_ai.response.model",
    "gen_ai.request.model",
    "llm.model_name",
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.prompt_tokens",
    "llm.token_count.prompt",
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "llm.token_count.completion",
    "gen_ai.usage.cache_read.input_tokens",
    "llm.token_count.prompt_details.cache_read",
    "gen_ai.usage.cache_creation.input_tokens",
    "llm.token_count.prompt_details.cache_write",
    "gen_ai.usage.reasoning.output_tokens",
    "llm.token_count.completion_details.reasoning",
    "llm.cost.total",
    "context.cost_usd",
    "error.type",
    "gen_ai.tool.name",
    "gen_ai.tool.call.id",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
    "tool.name",
    "tool.id",
    "tool.parameters",
    "tool_call.id",
    "tool_call.function.name",
    "tool_call.function.arguments",
    "input.value",
    "input.mime_type",
    "output.value",
    "output.mime_type",
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.system_instructions",
    "llm.input_messages.",
    "llm.output_messages.",
    "gen_ai.prompt.",
    "gen_ai.completion.",
    "gen_ai.agent.name",
    "agent.name",
];

impl Span {
    /// Returns the attributes that nothing else of a round holds.
    pub(super) fn other_attributes(&self) -> Map<String, Value> {
        let is_read = |key: &str| {
            READ.iter().any(|read| match read.strip_suffix('.') {
                Some(_) => key.starts_with(read),
                None => key == *read,
            })
        };
        let others = self.attributes.iter().filter(|(key, _)| !is_read(key));
        others.map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    pub(super) fn measures(&self) -> Measures {
        let attributes = &self.attributes;
        let mut measures = Measures::default();
        (measures.started_at, measures.ended_at) = (Some(self.start), self.end);
        let named = |names: &[&str]| text(attributes, names).map(Arc::from);
        measures.provider =
            named(&["gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system"]);
        measures.model =
            named(&["gen_ai.response.model", "gen_ai.request.model", "llm.model_name"]);
        let counted = |names: &[&str]| count(attributes, names);
        measures.input_tokens = counted(&[
            "gen_ai.usage.input_tokens",
            "gen_ai.usage.prompt_tokens",
            "llm.token_count.prompt",
        ]);
        measures.output_tokens = counted(&[
            "gen_ai.usage.output_tokens",
            "gen_ai.usage.completion_tokens",
            "llm.token_count.completion",
        ]);
        measures.cache_read_tokens = counted(&[
            "gen_ai.usage.cache_read.input_tokens",
            "llm.token_count.prompt_details.cache_read",
        ]);
        measures.cache_write_tokens = counted(&[
            "gen_ai.usage.cache_creation.input_tokens",
            "llm.token_count.prompt_details.cache_write",
        ]);
        measures.reasoning_tokens = counted(&[
            "gen_ai.usage.reasoning.output_tokens",
            "llm.token_count.completion_details.reasoning",
        ]);
        let cost = ["context.cost_usd", "llm.cost.total"];
        measures.cost_usd = cost.iter().find_map(|name| attributes.get(*name)?.as_f64());
        measures.error = self.error.clone();
        measures
    }

    /// The tool of a tool's span.
    pub(super) fn tool(&self) -> &str {
        let names = ["gen_ai.tool.name", "tool.name", "tool_call.function.name"];
        text(&self.attributes, &names).unwrap_or(&self.name)
    }

    pub(super) fn call_id(&self) -> Option<&str> {
        text(&self.attributes, &["gen_ai.tool.call.id", "tool_call.id", "tool.id"])
    }

    pub(super) fn arguments(&self) -> Value {
        let names = [
            "gen_ai.tool.call.arguments",
            "tool_call.function.arguments",
            "tool.parameters",
            "input.value",
        ];
        let found = names.iter().find_map(|name| self.attributes.get(*name));
        found.map_or_else(|| Value::Object(Map::new()), json)
    }

    pub(super) fn result(&self) -> Option<Value> {
        let names = ["gen_ai.tool.call.result", "output.value"];
        names.iter().find_map(|name| self.attributes.get(*name)).cloned()
    }
}

fn kind(attributes: &Map<String, Value>) -> Option<SpanKind> {
    let by_operation = match text(attributes, &["gen_ai.operation.name"]) {
        Some("invoke_agent" | "invoke_workflow") => Some(SpanKind::Agent),
        Some("chat" | "text_completion" | "generate_content") => Some(SpanKind::Model),
        Some("execute_tool" | "embeddings" | "retrieval") => Some(SpanKind::Tool),
        _ => None,
    };
    let by_kind = || match text(attributes, &["openinference.span.kind"])? {
        "AGENT" => Some(SpanKind::Agent),
        "LLM" => Some(SpanKind::Model),
        "TOOL" | "RETRIEVER" | "RERANKER" | "EMBEDDING" | "GUARDRAIL" | "EVALUATOR" => {
            Some(SpanKind::Tool)
        }
        _ => None,
    };
    // Earlier forms name the system or the messages, and no operation.
    let by_names = || {
        let is_model = |key: &String| {
            key == "gen_ai.request.model"
                || key.starts_with("gen_ai.prompt.")
                || key == "llm.system"
        };
        attributes.keys().any(is_model).then_some(SpanKind::Model)
    };
    by_operation.or_else(by_kind).or_else(by_names)
}

/// The spans that mean something, by time, with their parents among them.
pub(super) struct Meaningful {
    pub(super) spans: Vec<Span>,
    /// The number of the other spans.
    pub(super) others: usize,
    /// The number of circles of parents that were cut.
    pub(super) circles: usize,
}

/// Finds the spans that mean something.
pub(super) fn meaningful(raw: Vec<RawSpan>) -> Result<Meaningful, OtlpError> {
    let mut seen = HashSet::new();
    let mut raw: Vec<_> =
        raw.into_iter().filter(|span| seen.insert((span.trace.clone(), span.id.clone()))).collect();
    raw.sort_by(|a, b| (a.start, &a.trace, &a.id).cmp(&(b.start, &b.trace, &b.id)));
    let kinds: Vec<_> = raw.iter().map(|span| kind(&span.attributes)).collect();
    let by_id: HashMap<(&str, &str), usize> =
        raw.iter().enumerate().map(|(at, span)| ((&*span.trace, &*span.id), at)).collect();
    let around = |span: &RawSpan| {
        let parent = span.parent.as_deref()?;
        by_id.get(&(&*span.trace, parent)).copied()
    };
    let direct: Parents = raw.iter().map(around).collect();
    let mut parents = nearest(&direct, |at| kinds[at].is_some());
    let circles = cut_circles(&mut parents);
    let agents = nearest(&parents, |at| kinds[at] == Some(SpanKind::Agent));
    let named = |found: &Parents| -> Vec<Option<String>> {
        found.iter().map(|at| at.map(|at| raw[at].id.clone())).collect()
    };
    let (parents, agents) = (named(&parents), named(&agents));
    let mut sessions: HashMap<String, String> = HashMap::new();
    for span in &raw {
        if let Some(name) = text(&span.attributes, &["gen_ai.conversation.id", "session.id"]) {
            sessions.entry(span.trace.clone()).or_insert_with(|| name.to_owned());
        }
    }
    let all = raw.len();
    let mut spans = Vec::new();
    for ((raw, kind), around) in raw.into_iter().zip(kinds).zip(parents.into_iter().zip(agents)) {
        let Some(kind) = kind else { continue };
        let session = sessions.get(&raw.trace).unwrap_or(&raw.trace).clone();
        spans.push(span(raw, kind, around, session));
    }
    if spans.is_empty() {
        return Err(OtlpError::Nothing { spans: all });
    }
    let others = all - spans.len();
    Ok(Meaningful { spans, others, circles })
}

fn span(
    raw: RawSpan,
    kind: SpanKind,
    (parent, agent): (Option<String>, Option<String>),
    session: String,
) -> Span {
    let thrown = raw.events.iter().filter(|(name, _)| name == "exception");
    let thrown = thrown.filter_map(|(_, attributes)| text(attributes, &["exception.type"])).next();
    let named = text(&raw.attributes, &["error.type"]).or(thrown);
    let has_failed = raw.has_failed || raw.attributes.contains_key("error.type");
    let error = has_failed.then(|| Arc::from(named.unwrap_or("error")));
    let messages = Conversation::of(&raw);
    let RawSpan { trace, id, name, start, end, attributes, .. } = raw;
    Span { session, trace, id, parent, agent, kind, name, start, end, error, messages, attributes }
}
