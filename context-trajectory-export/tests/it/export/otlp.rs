//! OpenTelemetry traces, read back with the types that the project generates from its own
//! specification.

use std::collections::{BTreeMap, HashMap, HashSet};

use context_core::Timestamp;
use context_core::trajectory::{
    AgentRef, NewNode, NewQuery, NodeBody, NodeId, ParentNode, Round, TrajectoryNode,
    TrajectoryNodeKind,
};
use context_trajectory::SessionGraph;
use context_trajectory_export::otlp::{OtlpOptions, names, write_otlp_json};
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use opentelemetry_proto::tonic::trace::v1::{Span, TracesData, status::StatusCode};
use opentelemetry_semantic_conventions::attribute;
use proptest::prelude::*;

use super::scene::{at, of_rounds, session, sessions, written};

fn json(graph: &SessionGraph, options: &OtlpOptions) -> String {
    written(|out| write_otlp_json(graph, options, out))
}

fn read(json: &str) -> Vec<Span> {
    let data: TracesData = serde_json::from_str(json).unwrap();
    data.resource_spans
        .into_iter()
        .flat_map(|spans| spans.scope_spans)
        .flat_map(|spans| spans.spans)
        .collect()
}

fn spans(graph: &SessionGraph) -> Vec<Span> {
    read(&json(graph, &OtlpOptions::default()))
}

fn value(attributes: &[KeyValue], name: &str) -> Option<String> {
    let found = attributes.iter().find(|attribute| attribute.key == name)?;
    Some(match found.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => text.clone(),
        Value::BoolValue(flag) => flag.to_string(),
        Value::IntValue(number) => number.to_string(),
        Value::DoubleValue(number) => number.to_string(),
        other => panic!("{other:?}"),
    })
}

fn get(span: &Span, name: &str) -> String {
    value(&span.attributes, name).unwrap_or_default()
}

/// Returns one line per span: its parent, name, time in milliseconds, events and links.
fn shown(spans: &[Span]) -> String {
    let names: HashMap<&[u8], &str> =
        spans.iter().map(|span| (&*span.span_id, &*span.name)).collect();
    let start = spans.iter().map(|span| span.start_time_unix_nano).min().unwrap_or(0);
    let mut traces: Vec<&[u8]> = Vec::new();
    let lines = spans.iter().map(|span| {
        let trace = traces.iter().position(|trace| *trace == span.trace_id).unwrap_or_else(|| {
            traces.push(&span.trace_id);
            traces.len() - 1
        });
        let parent = names.get(&*span.parent_span_id).copied().unwrap_or("-");
        let [from, to] =
            [span.start_time_unix_nano, span.end_time_unix_nano].map(|at| (at - start) / 1_000_000);
        let events = span.events.iter().map(|event| {
            format!(
                "\n    {} {}",
                event.name,
                value(&event.attributes, "context.node.id").unwrap_or_default()
            )
        });
        let links = span.links.iter().map(|link| {
            let [edge, node] = ["context.edge.name", "context.edge.node"]
                .map(|name| value(&link.attributes, name).unwrap_or_default());
            format!("\n    {edge} {node} in {}", names[&*link.span_id])
        });
        let rest: String = events.chain(links).collect();
        format!("{trace} {} {from}..{to} below {parent}{rest}\n", span.name)
    });
    lines.collect()
}

#[test]
fn traces_of_a_session() {
    insta::assert_snapshot!(shown(&spans(&session())));
}

/// The OpenTelemetry names are not stable yet; ours are those of the release that the tests use. It
/// marks the names for generative AI as deprecated because their list has moved. The names are the
/// same there.
#[test]
#[expect(deprecated, reason = "the list has moved, the names have not")]
fn attributes_are_called_as_opentelemetry_calls_them() {
    let theirs = [
        attribute::GEN_AI_CONVERSATION_ID,
        attribute::USER_ID,
        attribute::GEN_AI_OPERATION_NAME,
        attribute::GEN_AI_AGENT_ID,
        attribute::GEN_AI_AGENT_NAME,
        attribute::GEN_AI_PROVIDER_NAME,
        attribute::GEN_AI_REQUEST_MODEL,
        attribute::GEN_AI_USAGE_INPUT_TOKENS,
        attribute::GEN_AI_USAGE_OUTPUT_TOKENS,
        attribute::GEN_AI_USAGE_CACHE_READ_INPUT_TOKENS,
        attribute::GEN_AI_USAGE_CACHE_CREATION_INPUT_TOKENS,
        attribute::GEN_AI_USAGE_REASONING_OUTPUT_TOKENS,
        attribute::GEN_AI_INPUT_MESSAGES,
        attribute::GEN_AI_OUTPUT_MESSAGES,
        attribute::GEN_AI_TOOL_NAME,
        attribute::GEN_AI_TOOL_CALL_ID,
        attribute::GEN_AI_TOOL_CALL_ARGUMENTS,
        attribute::GEN_AI_TOOL_CALL_RESULT,
        attribute::ERROR_TYPE,
        attribute::SERVICE_NAME,
    ];
    assert_eq!(names::attribute::OF_OPENTELEMETRY, theirs);
    let ours: HashSet<&str> = theirs.into_iter().collect();
    for span in spans(&session()) {
        for attribute in &span.attributes {
            let key = &*attribute.key;
            let known = ours.contains(key)
                || key.starts_with("context.")
                || key == "openinference.span.kind";
            assert!(known, "{key}");
        }
    }
}

#[test]
fn a_span_says_what_was_done_and_what_it_took() {
    let spans = spans(&session());
    let chat = spans.iter().find(|span| span.name == "chat some-model").unwrap();
    let expected = [
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.provider.name", "anthropic"),
        ("gen_ai.conversation.id", "s 1/#"),
        ("gen_ai.usage.input_tokens", "1000"),
        ("gen_ai.usage.output_tokens", "100"),
        ("gen_ai.usage.cache_read.input_tokens", "500"),
        ("gen_ai.usage.reasoning.output_tokens", "3"),
        ("context.cost_usd", "0.25"),
    ];
    for (name, expected) in expected {
        assert_eq!(get(chat, name), expected, "{name}");
    }
    let tool = spans.iter().find(|span| span.name == "execute_tool run_sql").unwrap();
    assert_eq!(get(tool, "gen_ai.tool.name"), "run_sql");
    assert_eq!(get(tool, "gen_ai.tool.call.id"), "action00000");
    assert_eq!(tool.end_time_unix_nano - tool.start_time_unix_nano, 4_000_000_000);
    assert!(tool.events.iter().any(
        |event| value(&event.attributes, "context.data.path").as_deref() == Some("out/top.csv")
    ));
}

#[test]
fn content_is_written_only_if_that_is_asked_for() {
    let without = json(&session(), &OtlpOptions::default());
    for secret in ["select 1", "North it is", "Which region", "Cold.", "12.5"] {
        assert!(!without.contains(secret), "{secret}");
    }
    let with = read(&json(&session(), &OtlpOptions::default().with_content()));
    let find = |name: &str| with.iter().find(|span| span.name == name).unwrap();
    let arguments = get(find("execute_tool run_sql"), "gen_ai.tool.call.arguments");
    let arguments: serde_json::Value = serde_json::from_str(&arguments).unwrap();
    assert_eq!(arguments, serde_json::json!({"query": "select 1", "limit": 5}));
    assert_eq!(
        get(find("chat some-model"), "gen_ai.output.messages"),
        r#"[{"role":"assistant","parts":[{"type":"reasoning","content":"hm"},{"type":"text","content":"Two ways: ask, or count."}],"finish_reason":"tool_call"}]"#
    );
    assert_eq!(
        get(find("invoke_agent main agent"), "gen_ai.input.messages"),
        r#"[{"role":"user","parts":[{"type":"text","content":"Which region sold most?"}]}]"#
    );
}

#[test]
fn what_failed_says_why() {
    let mut round = Round::new(AgentRef::new("anna", "s", 0).round(0), at(0));
    let (query, _) = round.ask(NewQuery::new("?"), at(0)).unwrap();
    let action = |name: &str| NodeBody::action(name, serde_json::json!({}));
    let mut timed_out = context_core::trajectory::Measures::default();
    timed_out.error = Some("timeout".into());
    let known =
        NewNode::new(action("known").with("output", "late").unwrap(), [query]).measure(timed_out);
    round.add(known.append(), at(1)).unwrap();
    let unknown = NewNode::new(action("unknown").with("output", "no").unwrap(), [query]);
    round.add(unknown.append(), at(1)).unwrap();
    round.add(NewNode::new(action("pending"), [query]).append(), at(1)).unwrap();
    let spans = spans(&of_rounds([vec![round]]));
    let errors = spans[1..].iter().map(|span| {
        let status = span.status.clone().unwrap_or_default();
        (&*span.name, status.code == StatusCode::Error as i32, get(span, "error.type"))
    });
    assert_eq!(
        errors.collect::<Vec<_>>(),
        [
            ("execute_tool known", true, "timeout".to_owned()),
            ("execute_tool unknown", true, "_OTHER".to_owned()),
            ("execute_tool pending", false, String::new()),
        ]
    );
}

/// Damaged heads may state that two agents called each other. Each then gets its own trace, and no
/// loop is endless.
#[test]
fn agents_that_call_each_other_are_traces_of_their_own() {
    let round = |agent: u32, parent: u32| {
        let round = Round::new(AgentRef::new("anna", "s", agent).round(0), at(0));
        let mut round = round.below(ParentNode { agent: parent, node: NodeId::new(0, 0) });
        round.ask(NewQuery::new("?"), at(0)).unwrap();
        round
    };
    let main = Round::new(AgentRef::new("anna", "s", 0).round(0), at(0));
    let spans = spans(&of_rounds([vec![main], vec![round(1, 2)], vec![round(2, 1)]]));
    let traces: HashSet<_> = spans.iter().map(|span| span.trace_id.clone()).collect();
    assert_eq!((spans.len(), traces.len()), (3, 3));
    assert!(spans.iter().all(|span| span.parent_span_id.is_empty()));
}

/// OTLP has no times before 1970.
#[test]
fn times_before_1970_are_1970() {
    let early = Timestamp::from_micros(-5);
    let round = Round::new(AgentRef::new("anna", "s", 0).round(0), early);
    assert_eq!(spans(&of_rounds([vec![round]]))[0].start_time_unix_nano, 0);
}

/// Checks that ids exist and are unique, spans end after they start, referenced spans exist, and no
/// span is its own ancestor.
fn check(graph: &SessionGraph) -> Result<(), String> {
    let spans = spans(graph);
    let by_id: BTreeMap<&[u8], &Span> = spans.iter().map(|span| (&*span.span_id, span)).collect();
    if by_id.len() != spans.len() {
        return Err("two spans have one id".into());
    }
    for span in &spans {
        let sizes = (span.trace_id.len(), span.span_id.len());
        if sizes != (16, 8) || span.start_time_unix_nano > span.end_time_unix_nano {
            return Err(format!("{}: {sizes:?}", span.name));
        }
        let (mut at, mut steps) = (span, 0);
        while !at.parent_span_id.is_empty() {
            at = by_id
                .get(&*at.parent_span_id)
                .ok_or_else(|| format!("{}: an orphan", span.name))?;
            steps += 1;
            if steps > spans.len() || at.trace_id != span.trace_id {
                return Err(format!("{}: goes round, or leaves its trace", span.name));
            }
        }
        for link in &span.links {
            let there = by_id
                .get(&*link.span_id)
                .ok_or_else(|| format!("{}: links to nothing", span.name))?;
            if there.trace_id != link.trace_id {
                return Err(format!("{}: links to another trace", span.name));
            }
        }
    }
    let computed = graph.agents().flat_map(|agent| agent.nodes());
    // An answer with a known model or token counts is a call.
    let took = |node: &TrajectoryNode| {
        let took = node.measures.as_deref();
        took.is_some_and(|took| {
            took.model.is_some() || took.input_tokens.or(took.output_tokens).is_some()
        })
    };
    let own = computed.filter(|node| match node.kind() {
        TrajectoryNodeKind::State | TrajectoryNodeKind::Action => true,
        kind => kind == TrajectoryNodeKind::Response && took(node),
    });
    let own = own.count();
    let rounds = graph.agents().map(|agent| agent.rounds().count()).sum::<usize>();
    if spans.len() == own + rounds { Ok(()) } else { Err("spans are missing".into()) }
}

#[test]
fn the_same_session_is_the_same_traces() {
    assert_eq!(check(&session()), Ok(()));
    let options = OtlpOptions::default().service("tests");
    assert_eq!(json(&session(), &options), json(&session(), &options));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None,
        ..ProptestConfig::with_cases(64) })]

    #[test]
    fn whatever_a_session_holds_its_traces_are_whole(graph in sessions()) {
        prop_assert_eq!(check(&graph), Ok(()));
    }
}
