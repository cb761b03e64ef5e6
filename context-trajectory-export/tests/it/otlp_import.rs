//! Traces of other programs as rounds.

use context_core::trajectory::{Round, RoundState, TrajectoryNodeKind};
use context_trajectory_export::{OtlpError, OtlpImported, is_otlp_json, read_otlp_json};
use proptest::collection;
use proptest::prelude::*;
use serde_json::{Value, json};

fn value(value: &Value) -> Value {
    match value {
        Value::String(text) => json!({ "stringValue": text }),
        Value::Number(number) if number.is_i64() => json!({ "intValue": number.to_string() }),
        Value::Number(number) => json!({ "doubleValue": number }),
        Value::Bool(flag) => json!({ "boolValue": flag }),
        Value::Array(list) => {
            json!({ "arrayValue": { "values": list.iter().map(self::value).collect::<Vec<_>>() } })
        }
        Value::Object(map) => json!({ "kvlistValue": { "values": attributes(&json!(map)) } }),
        Value::Null => json!({}),
    }
}

fn attributes(map: &Value) -> Vec<Value> {
    let pairs = map.as_object().unwrap().iter();
    pairs.map(|(key, known)| json!({ "key": key, "value": value(known) })).collect()
}

/// A span of trace `t`. Times are in milliseconds.
fn span(id: &str, parent: &str, start: u64, named: Value) -> Value {
    json!({
        "traceId": "t",
        "spanId": id,
        "parentSpanId": parent,
        "name": id,
        "startTimeUnixNano": (1_800_000_000_000_000_000 + start * 1_000_000).to_string(),
        "endTimeUnixNano": (1_800_000_000_000_000_000 + (start + 5) * 1_000_000).to_string(),
        "attributes": attributes(&named),
    })
}

fn traces(spans: &[Value]) -> String {
    json!({ "resourceSpans": [{ "scopeSpans": [{ "spans": spans }] }] }).to_string()
}

fn read(text: &str) -> OtlpImported {
    read_otlp_json(text, "ada", None).unwrap()
}

/// Returns the nodes of a round, each on a line.
fn lines(round: &Round) -> Vec<String> {
    let line = |node: &context_core::trajectory::TrajectoryNode| {
        let body = &node.body;
        let text = match body.kind() {
            TrajectoryNodeKind::Action => {
                let json = |name| body.get(name).unwrap().to_json().as_str().to_owned();
                let (params, output) = (json("params"), json("output"));
                format!("{} {params} {output} {}", body.text("action"), json("success"))
            }
            TrajectoryNodeKind::Knowledge => {
                format!("{}: {}", body.text("knowledge_type"), body.text("knowledge_content"))
            }
            _ => body.headline().to_owned(),
        };
        format!("{} {text}", body.kind().as_str())
    };
    round.nodes().map(|node| line(node)).collect()
}

/// An agent that calls a tool, with a sub-agent in the tool.
fn current() -> Vec<Value> {
    let call = json!([{ "role": "assistant", "parts": [
        { "type": "reasoning", "content": "Look it up." },
        { "type": "tool_call", "id": "c1", "name": "research", "arguments": { "city": "Lisbon" } },
    ], "finish_reason": "tool_call" }]);
    let question = json!([{ "role": "user", "parts": [{ "type": "text", "content": "Warm?" }] }]);
    let system = json!([{ "type": "text", "content": "Be brief." }]);
    let answer = json!([{ "role": "assistant", "parts": [{ "type": "text", "content": "Yes." }] }]);
    vec![
        span(
            "agent",
            "",
            0,
            json!({
                "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "planner",
                "gen_ai.conversation.id": "trip",
            }),
        ),
        span(
            "one",
            "agent",
            1,
            json!({
                "gen_ai.operation.name": "chat", "gen_ai.provider.name": "anthropic",
                "gen_ai.request.model": "m-1", "gen_ai.usage.input_tokens": 12,
                "gen_ai.usage.output_tokens": 7, "gen_ai.usage.cache_read.input_tokens": 3,
                "gen_ai.input.messages": question.to_string(), "gen_ai.output.messages": call.to_string(),
                "gen_ai.system_instructions": system.to_string(), "gen_ai.request.temperature": 0.5,
            }),
        ),
        span(
            "tool",
            "agent",
            10,
            json!({
                "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "research",
                "gen_ai.tool.call.id": "c1", "gen_ai.tool.call.result": "24 °C",
            }),
        ),
        span("http", "tool", 11, json!({ "http.request.method": "GET" })),
        span("sub", "http", 12, json!({ "gen_ai.operation.name": "invoke_agent" })),
        span(
            "inner",
            "sub",
            13,
            json!({
                "gen_ai.operation.name": "chat", "gen_ai.request.model": "m-2",
                // The structure itself in place of a text.
                "gen_ai.output.messages": answer,
                "gen_ai.input.messages": [{ "role": "user",
                    "parts": [{ "type": "text", "content": "Lisbon?" }] }],
            }),
        ),
        span(
            "two",
            "agent",
            30,
            json!({
                "gen_ai.operation.name": "chat", "gen_ai.request.model": "m-1",
                "gen_ai.output.messages": answer.to_string(),
            }),
        ),
    ]
}

#[test]
fn an_agent_with_tools_and_a_sub_agent_becomes_rounds() {
    let text = traces(&current());
    assert!(is_otlp_json(&text));
    let imported = read(&text);
    assert_eq!(imported.other_spans, 1);
    let [main, sub] = imported.rounds.as_slice() else { panic!("{imported:?}") };
    assert_eq!(
        lines(main),
        [
            "Query Warm?",
            "Knowledge system: Be brief.",
            "State ",
            "Knowledge attributes: {\"gen_ai.request.temperature\":0.5}",
            "Action research {\"city\":\"Lisbon\"} \"24 °C\" true",
            "Response Yes.",
        ]
    );
    let head = main.head();
    assert_eq!((head.round.agent.session.as_str(), head.round.agent.agent), ("trip", 0));
    assert_eq!(main.state(), RoundState::Closed);
    let state = main.nodes().find(|node| node.kind() == TrajectoryNodeKind::State).unwrap();
    let measures = state.measures.as_deref().unwrap();
    assert_eq!((measures.input_tokens, measures.cache_read_tokens), (Some(12), Some(3)));
    assert_eq!(
        (measures.model.as_deref(), measures.provider.as_deref()),
        (Some("m-1"), Some("anthropic"))
    );
    assert!(measures.started_at < measures.ended_at);
    assert_eq!(state.body.text("reasoning_content"), "Look it up.");
    assert_eq!(lines(sub), ["Query Lisbon?", "Response Yes."]);
    let parent = sub.head().parent.unwrap();
    assert_eq!(
        (parent.agent, main.node(parent.node).unwrap().body.text("action")),
        (0, "research")
    );
    // A second reading gives the same, also of spans in another order that occur twice.
    let mut again = current();
    again.reverse();
    again.extend(current());
    let again = read(&traces(&again));
    let records = |rounds: &[Round]| rounds.iter().map(Round::to_record).collect::<Vec<_>>();
    assert_eq!(records(&again.rounds), records(&imported.rounds));
}

#[test]
fn messages_in_older_events_are_read() {
    let mut model =
        span("m", "", 0, json!({ "gen_ai.operation.name": "chat", "gen_ai.system": "openai" }));
    let event =
        |name: &str, named: Value| json!({ "name": name, "attributes": attributes(&named) });
    model["events"] = json!([
        event("gen_ai.system.message", json!({ "content": "Be kind." })),
        event("gen_ai.user.message", json!({ "content": "Hello." })),
        event(
            "gen_ai.choice",
            json!({ "index": 0, "message": json!({ "role": "assistant",
            "content": "Hi.", "tool_calls": [{ "id": "c", "type": "function",
            "function": { "name": "wave", "arguments": "{\"hand\":1}" } }] }).to_string() })
        ),
    ]);
    let mut second = span("n", "", 20, json!({ "gen_ai.operation.name": "chat" }));
    second["events"] = json!([
        event("gen_ai.tool.message", json!({ "id": "c", "content": "waved" })),
        event("gen_ai.choice", json!({ "message": json!({ "content": "Done." }).to_string() })),
    ]);
    let imported = read(&traces(&[model, second]));
    assert_eq!(
        lines(&imported.rounds[0]),
        [
            "Query Hello.",
            "Knowledge system: Be kind.",
            "State Hi.",
            "Action wave {\"hand\":1} \"waved\" true",
            "Response Done.",
        ]
    );
    assert_eq!(imported.rounds[0].round().agent.session.as_str(), "t");
}

#[test]
fn names_of_openinference_are_read() {
    let message = |list: &str, at: usize, role: &str, text: &str| {
        let name = |field: &str| format!("llm.{list}_messages.{at}.message.{field}");
        [(name("role"), json!(role)), (name("content"), json!(text))]
    };
    let mut model: serde_json::Map<String, Value> = [
        ("openinference.span.kind", json!("LLM")),
        ("llm.model_name", json!("m")),
        ("llm.token_count.prompt", json!(5)),
        ("llm.token_count.completion_details.reasoning", json!(2)),
        ("llm.output_messages.0.message.tool_calls.0.tool_call.id", json!("k")),
        ("llm.output_messages.0.message.tool_calls.0.tool_call.function.name", json!("find")),
        ("llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments", json!("{}")),
        ("metadata", json!("{\"tier\":\"gold\"}")),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into_iter()
    .collect();
    model.extend(message("input", 0, "system", "Be exact."));
    model.extend(message("input", 1, "user", "Where?"));
    model.extend(message("output", 0, "assistant", ""));
    let mut tool = span(
        "t1",
        "chain",
        9,
        json!({ "openinference.span.kind": "TOOL",
        "tool.name": "find", "tool_call.id": "k", "input.value": "{}" }),
    );
    tool["status"] = json!({ "code": 2 });
    tool["events"] = json!([{ "name": "exception",
        "attributes": attributes(&json!({ "exception.type": "Timeout" })) }]);
    let spans = [
        span("chain", "", 0, json!({ "openinference.span.kind": "CHAIN", "session.id": "s-7" })),
        span("m1", "chain", 1, Value::Object(model)),
        tool,
        span(
            "r",
            "chain",
            15,
            json!({ "openinference.span.kind": "RETRIEVER",
            "input.value": "where", "output.value": "here" }),
        ),
        span(
            "m2",
            "chain",
            20,
            json!({ "openinference.span.kind": "LLM", "output.value": "Here." }),
        ),
    ];
    let imported = read(&traces(&spans));
    assert_eq!(
        lines(&imported.rounds[0]),
        [
            "Query Where?",
            "Knowledge system: Be exact.",
            "State ",
            "Knowledge attributes: {\"metadata\":\"{\\\"tier\\\":\\\"gold\\\"}\"}",
            "Action find {} \"Pending\" false",
            "Action r \"where\" \"here\" true",
            "Response Here.",
        ]
    );
    let errors =
        imported.rounds[0].nodes().filter_map(|node| node.measures.as_deref()?.error.clone());
    assert_eq!(errors.collect::<Vec<_>>(), ["Timeout".into()]);
    assert_eq!(imported.rounds[0].round().agent.session.as_str(), "s-7");
}

#[test]
fn several_traces_of_a_conversation_are_rounds_in_their_order() {
    let turn = |trace: &str, start: u64, question: &str| {
        let mut turn = span(
            "m",
            "",
            start,
            json!({ "gen_ai.operation.name": "chat",
            "gen_ai.conversation.id": "c", "input.value": question, "output.value": "Yes." }),
        );
        turn["traceId"] = json!(trace);
        traces(&[turn])
    };
    // As a collector writes them: one object to a line.
    let text = format!("{}\n\n{}\n", turn("b", 100, "Second?"), turn("a", 0, "First?"));
    let imported = read(&text);
    let shown: Vec<_> =
        imported.rounds.iter().map(|round| (round.round().round, lines(round))).collect();
    let lines = |question: &str| vec![format!("Query {question}"), "Response Yes.".to_owned()];
    assert_eq!(shown, [(0, lines("First?")), (1, lines("Second?"))]);
    let given = read_otlp_json(&text, "ada", Some("mine".into())).unwrap();
    assert_eq!(given.rounds[1].round().agent.session.as_str(), "mine");
}

#[test]
fn bad_traces_are_refused_with_their_place() {
    let refused = |text: &str| read_otlp_json(text, "ada", None).unwrap_err();
    for text in ["", "{}", "[1]", "null", "{\"resourceSpans\": 3}"] {
        assert!(!is_otlp_json(text), "{text}");
        assert!(matches!(refused(text), OtlpError::Form { line: 1, .. }), "{text}");
    }
    let good = traces(&current());
    assert!(matches!(refused(&format!("{good}\n{{\"a\"")), OtlpError::Form { line: 2, .. }));
    for (part, change) in [
        ("its id", ("spanId", json!(""))),
        ("the id of its trace", ("traceId", json!("x".repeat(65)))),
        ("its start", ("startTimeUnixNano", json!("soon"))),
    ] {
        let mut spans = current();
        spans[2][change.0] = change.1;
        let error = refused(&traces(&spans));
        assert!(matches!(&error, OtlpError::Span { span: 3, part: named } if *named == part));
    }
    let http = [span("h", "", 0, json!({ "http.request.method": "GET" }))];
    assert!(matches!(refused(&traces(&http)), OtlpError::Nothing { spans: 1 }));
}

#[test]
fn nothing_is_lost_of_spans_that_are_within_each_other() {
    let agent = || json!({ "gen_ai.operation.name": "invoke_agent" });
    let model = |text: &str| json!({ "gen_ai.operation.name": "chat", "output.value": text });
    let http = || json!({ "http.request.method": "GET" });
    let spans = [
        span("before", "a", 0, model("Before.")),
        span("a", "http", 1, agent()),
        span("http", "b", 2, http()),
        span("b", "a", 3, agent()),
        span("m", "b", 4, model("Within.")),
        span("alone", "alone", 5, model("Alone.")),
        span("x", "y", 6, http()),
        span("y", "x", 7, http()),
        span("beside", "x", 8, model("Beside.")),
    ];
    let imported = read(&traces(&spans));
    assert_eq!((imported.circles, imported.other_spans), (2, 3));
    let shown: Vec<_> =
        imported.rounds.iter().map(|round| (round.round().agent.agent, lines(round))).collect();
    let line = |lines: &[&str]| lines.iter().map(|&line| line.to_owned()).collect::<Vec<_>>();
    assert_eq!(
        shown,
        [
            (0, line(&["Query ", "Response Before."])),
            (0, line(&["Query ", "State Alone.", "Response Beside."])),
            (1, line(&["Query ", "Response Within."])),
        ]
    );
}

proptest! {
    #[test]
    fn no_span_is_lost_wherever_it_is(drawn in collection::vec((0_usize..4, 0_usize..9), 1..8)) {
        let named = [
            json!({ "gen_ai.operation.name": "invoke_agent" }),
            json!({ "gen_ai.operation.name": "chat" }),
            json!({ "gen_ai.operation.name": "execute_tool" }),
            json!({ "http.request.method": "GET" }),
        ];
        let of = |kind| drawn.iter().filter(|(drawn, _)| *drawn == kind).count();
        prop_assume!(of(3) < drawn.len());
        let spans = drawn.iter().enumerate().map(|(at, (kind, parent))| {
            span(&format!("s{at}"), &format!("s{parent}"), at as u64, named[*kind].clone())
        });
        let imported = read(&traces(&spans.collect::<Vec<_>>()));
        let nodes = |kinds: &[TrajectoryNodeKind]| {
            let nodes = imported.rounds.iter().flat_map(|round| round.nodes());
            nodes.filter(|node| kinds.contains(&node.body.kind())).count()
        };
        let kinds = [TrajectoryNodeKind::State, TrajectoryNodeKind::Response];
        prop_assert_eq!(nodes(&kinds), of(1));
        prop_assert_eq!(nodes(&[TrajectoryNodeKind::Action]), of(2));
        prop_assert_eq!(imported.other_spans, of(3));
        // What is within no agent has a round of its own.
        let rounds = nodes(&[TrajectoryNodeKind::Query]);
        prop_assert!(rounds == of(0) || rounds == of(0) + 1);
    }

    #[test]
    fn no_text_makes_it_panic(text in ".{0,200}", at in 0_usize..4_000, cut in any::<bool>()) {
        let _ = read_otlp_json(&text, "ada", None);
        let mut traces = traces(&current());
        let at = traces.floor_char_boundary(at.min(traces.len()));
        if cut { traces.truncate(at) } else { traces.insert_str(at, &text) }
        let _ = read_otlp_json(&traces, "ada", None);
    }
}
