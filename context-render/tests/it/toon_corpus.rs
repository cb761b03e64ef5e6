//! The fixtures of the TOON specification: each input is converted to fragments and rendered.
//!
//! The fixtures are of version 4.0, and the renderer writes 4.4, which changes none of them. Rules
//! exclude the inputs that are not prompts.

use std::fs;

use context_core::fragment::Number;
use context_core::{Fragment, FragmentData, Renderer};
use context_render::ToonRenderer;
use serde_json::Value;

use crate::data::{folder, json_files};
use crate::toon_properties::same;

/// Returns why an input is not a prompt, or is written in another way than this renderer's.
fn unfit(fixture: &Value) -> Option<&'static str> {
    let options = fixture["options"].as_object();
    let chosen = options.is_some_and(|options| options.keys().any(|key| key != "strict"));
    let input = &fixture["input"];
    match input {
        _ if chosen => Some("asks for another delimiter or indentation"),
        Value::Object(_) if holds_null(input) => Some("holds null, which is left out"),
        Value::Object(_) => None,
        _ => Some("is no object, and a prompt is one"),
    }
}

fn holds_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(holds_null),
        Value::Object(map) => map.values().any(holds_null),
        _ => false,
    }
}

fn data(value: &Value) -> FragmentData {
    match value {
        Value::Null => FragmentData::Null,
        Value::Bool(value) => FragmentData::from(*value),
        Value::Number(number) => {
            FragmentData::Number(match (number.as_i64(), number.as_u64(), number.as_f64()) {
                (Some(n), ..) => n.into(),
                (_, Some(n), _) => n.into(),
                (.., Some(n)) => n.into(),
                _ => Number::Float(f64::NAN),
            })
        }
        Value::String(text) => FragmentData::from(text.as_str()),
        Value::Array(items) => FragmentData::list(items.iter().map(data)),
        Value::Object(map) => {
            FragmentData::map(map.iter().map(|(key, value)| (key.as_str(), data(value))))
        }
    }
}

fn render(input: &Value) -> String {
    let entries = input.as_object().into_iter().flatten();
    let fragments: Vec<_> =
        entries.map(|(name, value)| Fragment::new(name.as_str(), data(value))).collect();
    ToonRenderer::new().render(&fragments).expect("fragments of data")
}

fn fixtures(folder: &std::path::Path) -> Vec<Value> {
    let read = |path| -> Value {
        serde_json::from_str(&fs::read_to_string(path).expect("a file")).expect("JSON")
    };
    let tests =
        json_files(folder).into_iter().map(read).map(|file| file["tests"].as_array().cloned());
    tests.flatten().flatten().collect()
}

#[test]
#[allow(clippy::print_stderr, reason = "the counts are the point")]
#[ignore = "needs test data; `cargo xtask test` runs it"]
fn fixtures_are_written_as_the_specification_says() {
    let folder = folder("data/toon/fixtures/encode");
    let fixtures = fixtures(&folder);
    let mut left_out = Vec::new();
    for fixture in &fixtures {
        let name = fixture["name"].as_str().expect("a name");
        if let Some(why) = unfit(fixture) {
            left_out.push(why);
            continue;
        }
        let text = render(&fixture["input"]);
        assert_eq!(
            text,
            toon_format::encode_default(&fixture["input"]).expect("encodes"),
            "{name}"
        );
        assert_eq!(Some(text.as_str()), fixture["expected"].as_str(), "{name}");
    }
    let equal = fixtures.len() - left_out.len();
    eprintln!("toon: {equal} of {} inputs as in the fixture; what does not fit:", fixtures.len());
    left_out.sort_unstable();
    for group in left_out.chunk_by(|a, b| a == b) {
        eprintln!("  {}: {}", group.len(), group[0]);
    }
    assert!(equal > 0);
}

#[test]
#[allow(clippy::print_stderr, reason = "the counts are the point")]
#[ignore = "needs test data; `cargo xtask test` runs it"]
fn what_fixtures_decode_to_is_written_so_that_it_reads_back() {
    let folder = folder("data/toon/fixtures/decode");
    let mut count = 0;
    for fixture in fixtures(&folder) {
        let tree = &fixture["expected"];
        if tree.is_object() && !holds_null(tree) {
            let text = render(tree);
            let read: Value = toon_format::decode_default(&text).expect("decodes");
            assert!(same(&read, tree), "{}\n{text}", fixture["name"]);
            count += 1;
        }
    }
    eprintln!("toon: {count} decoded trees read back");
    assert!(count > 0);
}
