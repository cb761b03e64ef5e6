//! The documents of the toml-test suite: each is converted to fragments, rendered and read back.
//!
//! The suite tags each value with its type. Fragments have no dates, so dates are text here.

use std::fs;

use context_core::fragment::Number;
use context_core::{Fragment, FragmentData, Renderer};
use context_render::TomlRenderer;
use serde_json::Value;

use crate::data::{folder, json_files};
use crate::plain::Plain;
use crate::toml_properties::read;

fn decode(value: &Value) -> (FragmentData, Plain) {
    match value {
        Value::Array(items) => {
            let (data, plain): (Vec<_>, _) = items.iter().map(decode).unzip();
            (FragmentData::list(data), Plain::Array(plain))
        }
        Value::Object(map) => match (map.get("type"), map.get("value")) {
            (Some(Value::String(kind)), Some(Value::String(value))) if map.len() == 2 => {
                scalar(kind, value)
            }
            _ => {
                let entries = map.iter().map(|(key, value)| (key, decode(value)));
                let (data, plain): (Vec<_>, _) = entries
                    .map(|(key, (data, plain))| ((key.as_str(), data), (key.clone(), plain)))
                    .unzip();
                (FragmentData::map(data), Plain::Table(plain))
            }
        },
        other => panic!("not tagged: {other}"),
    }
}

fn scalar(kind: &str, value: &str) -> (FragmentData, Plain) {
    let number = |number: Number| (FragmentData::Number(number), Plain::Number(number));
    match kind {
        "integer" => number(value.parse::<i64>().expect("an integer").into()),
        "float" => number(value.parse::<f64>().expect("a float").into()),
        "bool" => {
            let value = value == "true";
            (value.into(), Plain::Bool(value))
        }
        "string" | "datetime" | "datetime-local" | "date-local" | "time-local" => {
            (value.into(), Plain::Text(value.to_owned()))
        }
        other => panic!("a new type: {other}"),
    }
}

#[test]
#[allow(clippy::print_stderr, reason = "the count is the point")]
#[ignore = "needs test data; `cargo xtask test` runs it"]
fn every_document_of_the_suite_reads_back() {
    let folder = folder("data/toml-test/valid");
    let files = json_files(&folder);
    for file in &files {
        let document: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        let (FragmentData::Map(map), expected) = decode(&document) else {
            panic!("{}", file.display())
        };
        let fragments: Vec<_> =
            map.iter().map(|(name, data)| Fragment::new(name.as_str(), data.clone())).collect();
        let text = TomlRenderer::new().render(&fragments).unwrap();
        assert_eq!(read(&text), expected, "{}\n{text}", file.display());
        // The same document as one fragment.
        let text = TomlRenderer::new()
            .render(&[Fragment::new("document", FragmentData::Map(map))])
            .unwrap();
        let expected = Plain::Table(vec![("document".to_owned(), expected)]);
        assert_eq!(read(&text), expected, "{}\n{text}", file.display());
    }
    eprintln!("toml-test: {} of {} documents read back", files.len(), files.len());
    assert!(!files.is_empty());
}
