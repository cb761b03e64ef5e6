//! Helpers of several tests.

use std::fs;
use std::path::{Path, PathBuf};

use context_codec_gemini::generate::GenerateCodec;
use context_core::model::ModelCodec;
use context_core::{Answer, Json, Message, ModelRequest};
use context_simulator::recordings::folder;
use serde_json::Value;

pub(crate) fn json(value: &Value) -> Json {
    Json::from(value)
}

pub(crate) fn value(json: &Json) -> Value {
    json.parse().unwrap()
}

/// Returns the answer of recorded events.
pub(crate) fn streamed(events: &[&str]) -> Answer {
    let mut stream = GenerateCodec.answer_stream();
    for event in events {
        stream.push(event).unwrap();
    }
    stream.finish()
}

/// Returns a request that asks something and contains the answer.
pub(crate) fn answered(answer: &Message) -> ModelRequest {
    ModelRequest::new([Message::from("question"), answer.clone()])
}

/// Panics for contents that the provider refuses.
pub(crate) fn check_contents(body: &Value) {
    let contents = body["contents"].as_array().unwrap();
    let mut open = 0;
    for (i, content) in contents.iter().enumerate() {
        let role = content["role"].as_str().unwrap();
        assert_eq!(role, if i % 2 == 0 { "user" } else { "model" }, "{body}");
        let parts = content["parts"].as_array().unwrap();
        assert!(!parts.is_empty(), "{body}");
        let responses = parts.iter().filter(|part| part.get("functionResponse").is_some()).count();
        assert_eq!(responses, open, "{body}");
        assert!(
            parts[..responses].iter().all(|part| part.get("functionResponse").is_some()),
            "{body}"
        );
        open = parts.iter().filter(|part| part.get("functionCall").is_some()).count();
        for part in parts {
            let text = part.get("text").and_then(Value::as_str);
            assert!(text != Some("") || part.get("thoughtSignature").is_some(), "{body}");
        }
    }
    assert_eq!(open, 0, "{body}");
    assert_eq!(contents.last().unwrap()["role"], "user", "{body}");
}

/// Returns a folder or file of the test data.
pub(crate) fn data(path: &str) -> PathBuf {
    folder().expect("test data").join(path)
}

/// Returns the files below a folder, in order.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}
