//! Recorded exchanges with providers, read from a folder of test data next to the workspace or at
//! `CONTEXT_TEST_DATA`.
//!
//! The format is the cassettes of VCR for Python: YAML files of interactions, with `parsed_body` on
//! both sides where a body was JSON. This module records nothing, and this crate ships no data.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

/// A recorded exchange.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Exchange {
    /// The file name without its extension, and the index in the file.
    pub name: String,
    /// The URI of the request.
    pub uri: String,
    /// The name of the codec for the wire form.
    pub provider: &'static str,
    /// The body of the request.
    pub request: Value,
    /// The status of the answer.
    pub status: u16,
    /// The answer, if it was not streamed.
    pub answer: Value,
    /// The data of the events, if the answer was streamed.
    pub events: Vec<String>,
}

/// Returns the place of test data: the folder that `CONTEXT_TEST_DATA` names, else `shared` next to
/// the workspace of this crate. It need not exist.
pub fn root() -> PathBuf {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let named = std::env::var_os("CONTEXT_TEST_DATA").filter(|folder| !folder.is_empty());
    named.map_or(beside, PathBuf::from)
}

/// Returns the [`root`] of test data if it is there. Reports a missing one on standard error, since
/// standard output may be for machines.
pub fn folder() -> Option<PathBuf> {
    let folder = root();
    if folder.join("data").is_dir() {
        return Some(folder);
    }
    skipped(&folder);
    None
}

#[allow(clippy::print_stderr, reason = "whoever runs tests should know what was not tested")]
fn skipped(folder: &Path) {
    eprintln!(
        "skipped: there is no test data at {} (CONTEXT_TEST_DATA names another place)",
        folder.display()
    );
}

/// Returns the exchanges below a folder that ask a provider for an answer, ordered by file. The
/// provider has the name of its codec.
///
/// # Panics
///
/// If a file cannot be read: this function is for tests.
pub fn exchanges(folder: &Path, provider: &str) -> Vec<Exchange> {
    matching(folder, provider, answers)
}

/// Returns the exchanges below a folder that ask a provider to count the tokens of a request,
/// ordered by file. The provider has the name of its codec. [`exchanges`] leaves them out.
///
/// # Panics
///
/// If a file cannot be read: this function is for tests.
pub fn counts(folder: &Path, provider: &str) -> Vec<Exchange> {
    matching(folder, provider, counts_tokens)
}

/// A function from the path of a URI to the codec of the wire form used there, or `None` if the
/// exchange is not wanted.
type CodecOfPath = fn(&str) -> Option<&'static str>;

fn matching(folder: &Path, provider: &str, codec_of: CodecOfPath) -> Vec<Exchange> {
    let mut files = Vec::new();
    collect_files(folder, &mut files);
    files.sort();
    let all = files.iter().flat_map(|file| read(file, codec_of));
    all.filter(|exchange| exchange.provider == provider).collect()
}

fn collect_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect_files(&path, files);
        } else if path.extension().is_some_and(|end| end == "yaml") {
            files.push(path);
        }
    }
}

#[derive(Deserialize)]
struct Cassette {
    interactions: Vec<Interaction>,
}

#[derive(Deserialize)]
struct Interaction {
    request: Request,
    response: Response,
}

#[derive(Deserialize)]
struct Request {
    uri: String,
    #[serde(default)]
    parsed_body: Value,
}

#[derive(Deserialize)]
struct Response {
    status: Status,
    #[serde(default)]
    parsed_body: Value,
    body: Option<Body>,
}

#[derive(Deserialize)]
struct Status {
    code: u16,
}

/// A body that is not JSON. The bodies of downloaded files are binary and of no interest.
#[derive(Deserialize)]
struct Body {
    string: String,
}

fn read(file: &Path, codec_of: CodecOfPath) -> Vec<Exchange> {
    let fault = |error: &dyn std::fmt::Display| -> ! { panic!("{}: {error}", file.display()) };
    let text = fs::read_to_string(file).unwrap_or_else(|error| fault(&error));
    let options = serde_saphyr::options! { ignore_binary_tag_for_string: true };
    let cassette: Cassette =
        serde_saphyr::from_str_with_options(&text, options).unwrap_or_else(|error| fault(&error));
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let interactions = cassette.interactions.into_iter().enumerate();
    let exchanges = interactions.filter_map(|(i, Interaction { request, response })| {
        let path = request.uri.split('?').next()?;
        let provider = codec_of(path).filter(|_| request.parsed_body.is_object())?;
        Some(Exchange {
            name: format!("{stem}[{i}]"),
            uri: request.uri,
            provider,
            request: request.parsed_body,
            status: response.status.code,
            answer: response.parsed_body,
            events: events(&response.body.map(|body| body.string).unwrap_or_default()),
        })
    });
    exchanges.collect()
}

fn answers(path: &str) -> Option<&'static str> {
    Some(match path {
        _ if path.ends_with("/chat/completions") => "openai",
        _ if path.ends_with("/responses") => "openai-responses",
        _ if path.ends_with("/v1/messages") => "anthropic",
        _ if path.ends_with(":generateContent") || path.ends_with(":streamGenerateContent") => {
            "gemini"
        }
        _ => return None,
    })
}

fn counts_tokens(path: &str) -> Option<&'static str> {
    Some(match path {
        _ if path.ends_with("/responses/input_tokens") => "openai-responses",
        _ if path.ends_with("/v1/messages/count_tokens") => "anthropic",
        _ if path.ends_with(":countTokens") => "gemini",
        _ => return None,
    })
}

/// Returns the data fields of server-sent events.
fn events(text: &str) -> Vec<String> {
    let data = |block: &str| {
        let lines = block.lines().filter_map(|line| line.strip_prefix("data:"));
        lines.map(str::trim_start).collect::<Vec<_>>().join("\n")
    };
    text.replace("\r\n", "\n").split("\n\n").map(data).filter(|data| !data.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
interactions:
- request:
    uri: https://api.example.org/v1/messages?beta=true
    parsed_body: {model: m}
  response:
    status: {code: 200}
    body: {string: "event: a\r\ndata: {}\r\n\r\ndata: [DONE]\r\n\r\n"}
- request:
    uri: https://api.example.org/v1/messages/count_tokens?beta=true
    parsed_body: {model: n}
  response:
    status: {code: 429}
    parsed_body: {input_tokens: 3}
- request:
    uri: https://api.example.org/v1/responses/resp_1
  response:
    status: {code: 200}
"#;

    #[test]
    fn answers_and_counts_are_told_apart() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("a")).expect("a folder");
        fs::write(folder.path().join("a/file.yaml"), FILE).expect("a file");
        let [answer] = &exchanges(folder.path(), "anthropic")[..] else { panic!("one answer") };
        assert_eq!(
            (answer.name.as_str(), answer.status, &answer.answer),
            ("file[0]", 200, &Value::Null)
        );
        assert_eq!(
            (&answer.request["model"], &answer.events[..]),
            (&"m".into(), &["{}", "[DONE]"].map(String::from)[..])
        );
        let [count] = &counts(folder.path(), "anthropic")[..] else { panic!("one count") };
        assert_eq!((count.name.as_str(), count.status, count.events.len()), ("file[1]", 429, 0));
        assert_eq!(count.answer["input_tokens"], 3);
        for provider in ["openai", "openai-responses", "gemini"] {
            assert!(
                exchanges(folder.path(), provider).is_empty()
                    && counts(folder.path(), provider).is_empty()
            );
        }
    }
}
