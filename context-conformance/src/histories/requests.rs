//! Random requests.

use std::time::Duration;

use context_core::message::Text;
use context_core::model::{CacheMarks, FunctionTool, OutputSchema, Tool, ToolChoice, Unanswered};
use context_core::{Json, ModelRequest};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::json;

use super::{Damage, damaged, parts};

/// Generates requests with a damaged history, together with the damages. They name a model and an
/// output limit, because some providers require them.
pub fn requests() -> impl Strategy<Value = (ModelRequest, Vec<Damage>)> {
    let system = vec(prop_oneof![6 => parts::words(), 1 => Just(" ".to_owned())], 0..3);
    let marks = prop_oneof![
        3 => Just(CacheMarks::Auto),
        2 => vec(0..30_usize, 0..7).prop_map(CacheMarks::At),
        1 => Just(CacheMarks::Existing),
    ];
    let unanswered = prop_oneof![Just(Unanswered::Answer), Just(Unanswered::Remove)];
    let settings =
        (marks, any::<bool>(), unanswered, option::of(any::<bool>()), option::of(Just(0.5)));
    let lifetimes = prop_oneof![Just(60), Just(300), Just(3_600), Just(100_000)];
    let cache = (option::of("[a-z]{1,80}"), option::of(lifetimes.prop_map(Duration::from_secs)));
    (damaged(), system, tools(), option::of(output()), settings, cache).prop_map(
        |((history, damages), system, (tools, tool_choice), output, settings, cache)| {
            let mut request =
                ModelRequest::new(history).model("a-model").max_output_tokens(1_000).tools(tools);
            request.system = system
                .into_iter()
                .map(|text| Text { text: text.into(), ..Text::default() })
                .collect();
            (request.tool_choice, request.output) = (tool_choice, output);
            (
                request.cache,
                request.prefill,
                request.unanswered,
                request.stream,
                request.temperature,
            ) = settings;
            (request.cache_key, request.cache_lifetime) = cache;
            (request, damages)
        },
    )
}

fn output() -> impl Strategy<Value = OutputSchema> {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"],
                        "additionalProperties": false});
    Just(OutputSchema::new("answer", Json::from(&schema)))
}

/// Generates no tools, the tools of the histories, or tools whose names are invalid or repeat.
fn tools() -> impl Strategy<Value = (Vec<Tool>, Option<ToolChoice>)> {
    let good = Just(parts::TOOLS.map(str::to_owned).to_vec());
    let odd = Just(vec![
        "search".to_owned(),
        "a b".into(),
        "a.b".into(),
        "z".repeat(200),
        "search".into(),
        String::new(),
    ]);
    let names = prop_oneof![2 => Just(Vec::new()), 6 => good, 1 => odd];
    (names, any::<prop::sample::Index>(), 0..5_u8).prop_map(|(names, at, choice)| {
        let choice = match choice {
            0 => Some(ToolChoice::Auto),
            1 => Some(ToolChoice::None),
            2 => Some(ToolChoice::Required),
            3 if !names.is_empty() => Some(ToolChoice::Named(at.get(&names).clone())),
            3 => Some(ToolChoice::Named("nothing".into())),
            _ => None,
        };
        let schema = json!({"type": "object", "properties": {"query": {"type": "string"}}});
        let tool = |name| {
            Tool::Function(FunctionTool::new(name, Json::from(&schema)).description("Does it."))
        };
        (names.into_iter().map(tool).collect(), choice)
    })
}
