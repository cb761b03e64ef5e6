//! Random parts.

use context_core::message::{Data, Media, MediaSource, OpaqueBlock, Reasoning};
use context_core::{Json, Metadata, Part};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;

use super::HistoryContent;
use super::media::bytes_of;

/// The tools of random histories. [`requests`](super::requests) declare them.
pub const TOOLS: [&str; 4] = ["search", "read_file", "run-tests", "GetWeather2"];

/// Generates text that is not blank.
pub(super) fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "[a-zA-Z][a-zA-Z ,.]{0,30}[a-z.]",
        1 => "[ \n]?[äß漢🦀\"\\\\<>&]{1,8}[ \n]{0,2}",
        1 => Just("a long text. ".repeat(80)),
        1 => Just("{\"looks\": \"like JSON\"}".to_owned()),
        1 => Just("line\u{2028}break \u{0}null \u{7f} \u{feff}mark".to_owned()),
    ]
}

pub(super) fn tool_name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(TOOLS.to_vec())
}

/// Generates the prefix of call ids.
pub(super) fn id_style() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["call_", "toolu_01", "", "3f2a91c4-7b1e-4d5a-9c0f-"])
}

pub(super) fn input() -> impl Strategy<Value = Json> {
    let inputs = [
        "{}",
        r#"{"query":"cats"}"#,
        r#"{ "z" : 1.50, "a": [1, {"deep": [[]]}], "big": 12345678901234567890123 }"#,
        r#"{"text":"line\nbreak \"quoted\" \u00e4 🦀","null":null}"#,
    ];
    prop::sample::select(inputs.to_vec()).prop_map(|text| Json::from_text(text).expect("JSON"))
}

/// Generates the parts of a user message.
pub(super) fn user(content: HistoryContent) -> BoxedStrategy<Vec<Part>> {
    let text = || words().prop_map(Part::text);
    match content {
        HistoryContent::Plain => vec(text(), 1..3).boxed(),
        HistoryContent::Everything => {
            let any = prop_oneof![4 => text(), 2 => media(), 1 => data()];
            (text(), vec(any, 0..3))
                .prop_map(|(first, rest)| [vec![first], rest].concat())
                .prop_shuffle()
                .boxed()
        }
    }
}

/// Generates the parts of the last assistant message of a turn.
pub(super) fn assistant(content: HistoryContent) -> BoxedStrategy<Vec<Part>> {
    let text = words().prop_map(Part::text);
    match content {
        HistoryContent::Plain => vec(text, 1..2).boxed(),
        HistoryContent::Everything => (before_calls(content), text)
            .prop_map(|(mut before, text)| {
                before.push(text);
                before
            })
            .boxed(),
    }
}

/// Generates the text and thinking of an assistant before its calls or its end.
pub(super) fn before_calls(content: HistoryContent) -> BoxedStrategy<Vec<Part>> {
    let text = words().prop_map(|text| vec![Part::text(text)]);
    match content {
        HistoryContent::Plain => prop_oneof![Just(Vec::new()), text].boxed(),
        HistoryContent::Everything => {
            let thought = thought().prop_map(|thought| vec![thought]);
            let piece = prop_oneof![3 => text, 3 => thought, 1 => opaque(),
                1 => data().prop_map(|data| vec![data])];
            vec(piece, 0..4).prop_map(|pieces| pieces.concat()).boxed()
        }
    }
}

/// Generates the output of a tool.
pub(super) fn output(content: HistoryContent) -> BoxedStrategy<Vec<Part>> {
    let text = words().prop_map(Part::text);
    match content {
        HistoryContent::Plain => vec(text, 1..2).boxed(),
        HistoryContent::Everything => {
            vec(prop_oneof![5 => text, 2 => media(), 1 => data()], 0..3).boxed()
        }
    }
}

fn data() -> impl Strategy<Value = Part> {
    Just(Part::Data(Data { name: "progress".into(), value: json!({"done": 3}).into() }))
}

fn thought() -> impl Strategy<Value = Part> {
    let (signature, encrypted) = (Some("c2lnbmF0dXJl"), Some("ZW5jcnlwdGVk"));
    prop::sample::select(vec![
        thinks("Let me think.", None, None, None),
        thinks("Let me think.", signature, None, Some("anthropic")),
        thinks("", signature, None, Some("anthropic")),
        thinks("", None, encrypted, Some("anthropic")),
        thinks("A summary.", None, encrypted, Some("openai")),
        thinks("", None, encrypted, Some("openai")),
        thinks("A summary.", signature, None, Some("gemini")),
        thinks("", signature, None, Some("gemini")),
        thinks("Elsewhere.", Some("a signature of another kind!"), None, Some("elsewhere")),
        thinks("Of nobody.", signature, encrypted, None),
    ])
}

fn thinks(
    text: &str,
    signature: Option<&str>,
    encrypted: Option<&str>,
    provider: Option<&str>,
) -> Part {
    Part::Reasoning(Reasoning {
        text: text.into(),
        signature: signature.map(Into::into),
        encrypted: encrypted.map(Into::into),
        provider: provider.map(str::to_owned),
        metadata: Metadata::default(),
    })
}

/// Generates blocks of one provider that belong together.
fn opaque() -> impl Strategy<Value = Vec<Part>> {
    let number = 0..1_000_000_000_u32;
    let which = prop::sample::select(vec!["anthropic", "openai-responses", "gemini", "elsewhere"]);
    (which, number).prop_map(|(provider, number)| {
        let values = match provider {
            "anthropic" => vec![
                json!({"type": "server_tool_use", "id": format!("srvtoolu_{number}"), "name": "web_search",
                       "input": {"query": "cats"}}),
                json!({"type": "web_search_tool_result", "tool_use_id": format!("srvtoolu_{number}"), "content": [
                    {"type": "web_search_result", "title": "Cats", "url": "https://example.com/cats",
                     "encrypted_content": "ZW5j"}
                ]}),
            ],
            "openai-responses" => vec![
                json!({"type": "web_search_call", "id": format!("ws_{number}"), "status": "completed",
                       "action": {"type": "search", "query": "cats"}}),
            ],
            "gemini" => vec![
                json!({"executableCode": {"language": "PYTHON", "code": "print(1)"}}),
                json!({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}),
            ],
            _ => vec![json!({"type": "novel", "value": number})],
        };
        let block = |value| Part::Opaque(OpaqueBlock { provider: provider.to_owned(),
            value: Json::from(&value) });
        values.into_iter().map(block).collect()
    })
}

fn media() -> impl Strategy<Value = Part> {
    let image = prop::sample::select(vec![
        "image/png",
        "image/jpeg",
        "image/webp",
        "image/gif",
        "image/bmp",
        "",
    ]);
    let document =
        prop::sample::select(vec!["application/pdf", "text/plain", "application/zip", ""]);
    let audio = prop::sample::select(vec!["audio/wav", "audio/mpeg", "audio/ogg", ""]);
    let named = prop::sample::select(vec![None, Some("a file.pdf")]);
    let kind: fn(Media) -> Part = Part::Image;
    let of_kind = prop_oneof![
        3 => image.prop_map(move |media_type| (kind, media_type)),
        2 => document.prop_map(|media_type| (Part::Document as fn(Media) -> Part, media_type)),
        1 => audio.prop_map(|media_type| (Part::Audio as fn(Media) -> Part, media_type)),
    ];
    (of_kind, 0..8, named).prop_map(|((kind, media_type), place, name)| {
        let data = bytes_of(media_type);
        let source = match place {
            0..4 => MediaSource::Base64(data.into()),
            4 | 5 => MediaSource::Url("https://example.com/a.bin".to_owned()),
            6 => MediaSource::Url(format!("data:image/png;base64,{}", bytes_of("image/png"))),
            _ => MediaSource::Reference("file-123".to_owned()),
        };
        kind(Media {
            source,
            media_type: Some(media_type.to_owned()).filter(|media_type| !media_type.is_empty()),
            name: name.map(str::to_owned),
            metadata: Metadata::default(),
        })
    })
}
