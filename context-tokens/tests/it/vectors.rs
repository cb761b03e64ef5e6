//! Token counts recorded from another implementation.

use std::path::PathBuf;

use context_core::message::{Media, MediaSource, Reasoning};
use context_core::model::TokenCounter;
use context_core::{Metadata, Part, ToolResult};
use context_tokens::{Budget, ModelCounter, Pressure, Vocabulary};
use serde_json::Value;

fn recorded() -> Value {
    let root = std::env::var_os("CONTEXT_TEST_DATA").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared"),
        PathBuf::from,
    );
    let text = std::fs::read_to_string(root.join("vectors/pilotdeck.json")).expect("test data");
    serde_json::from_str(&text).unwrap()
}

fn cases<'a>(recorded: &'a Value, group: &str) -> Vec<&'a Value> {
    let all = recorded["cases"].as_array().unwrap();
    all.iter().filter(|case| case["group"] == group).collect()
}

#[test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
fn budgets() {
    let recorded = recorded();
    let cases = cases(&recorded, "budget");
    assert_eq!(cases.len(), 3);
    for case in cases {
        let (input, output) = (&case["input"], &case["output"]);
        let reserve = input["reservedOutputTokens"].as_u64().unwrap_or(0);
        let budget = Budget::new(input["maxContextTokens"].as_u64().unwrap(), reserve);
        let tokens = input["tokens"].as_u64().unwrap();
        assert_eq!(budget.input(), output["maxContextTokens"].as_u64().unwrap());
        assert!((budget.ratio(tokens) - output["ratio"].as_f64().unwrap()).abs() < 1e-12);
        let state = match budget.pressure(tokens) {
            Pressure::Low => "ok",
            Pressure::Tight => "warning",
            Pressure::Full => "blocking",
        };
        assert_eq!(state, output["state"]);
    }
}

#[test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
fn estimates() {
    let recorded = recorded();
    let counter = ModelCounter::for_vocabulary(Vocabulary::O200kBase);
    let cases = cases(&recorded, "estimate");
    assert_eq!(cases.len(), 4);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for case in cases {
        let block = &case["input"]["block"];
        let peer = case["output"].as_u64().unwrap();
        match block["type"].as_str().unwrap() {
            "text" => {
                assert_eq!(counter.count_part(&Part::text(text(&block["text"]))).tokens(), peer)
            }
            // The other implementation counts an image within a result as a placeholder; here it
            // counts like any image.
            "tool_result" => {
                let source = MediaSource::Base64(text(&block["content"][0]["data"]).into());
                let image = Part::Image(Media {
                    source,
                    media_type: None,
                    name: None,
                    metadata: Metadata::default(),
                });
                let result = Part::ToolResult(ToolResult {
                    call_id: "c".into(),
                    name: None,
                    output: vec![image.clone()],
                    is_error: false,
                    metadata: Metadata::default(),
                });
                assert_eq!(counter.count_part(&result), counter.count_part(&image));
                assert!(counter.count_part(&image).tokens() > peer);
            }
            // The other implementation does not count signatures, but they are sent.
            "thinking" => {
                let thought = Part::Reasoning(Reasoning {
                    text: text(&block["text"]).into(),
                    signature: Some(text(&block["signature"]).into()),
                    ..Reasoning::default()
                });
                let count = counter.count_part(&thought);
                assert_eq!(count.low(), peer);
                assert!(count.tokens() > peer);
            }
            // There are no references here: a result whose text was stored elsewhere is the text
            // that is sent.
            "tool_result_reference" => {
                let sent = Part::tool_result(
                    "c1",
                    format!("{}\n[cut; read {}]", block["preview"], block["path"]),
                );
                assert!(counter.count_part(&sent).tokens() > peer);
            }
            other => panic!("no case is of the type {other}"),
        }
    }
}
