//! `Message::decode` has a short way for the form that this crate writes. The general reader, which
//! serde calls, must give the same for every input, and a chain the stored bytes after reading.

use std::sync::Arc;

use context_core::base::CodecError;
use context_core::message::{
    Data, LazyRun, Media, MediaSource, NodeKind, OpaqueBlock, ReadRun, Reasoning, Text, ToolInput,
};
use context_core::{
    Chain, Encoded, Json, Message, Metadata, Node, Part, Role, Timestamp, ToolCall, ToolResult,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

fn json() -> impl Strategy<Value = Json> {
    let texts = ["1", "1.50", "null", r#""a\u00e9\n""#, "{}", "[ ]", "{\"b\": 1}", "\"é\""];
    select(texts.to_vec()).prop_map(|text| Json::from_text(text).unwrap())
}

fn text() -> impl Strategy<Value = String> {
    let pieces =
        ["", "a", "é", "\n", "\"", "\\", "\u{1}", "\u{7f}", "\u{2028}", "😀", "a b c d e f"];
    prop_oneof![
        vec(select(pieces.to_vec()), 0..20).prop_map(|pieces| pieces.concat()),
        "[a-z ]{0,100}",
        ".{0,40}",
    ]
}

fn metadata() -> impl Strategy<Value = Metadata> {
    let entry = (select(vec!["type", "text", "metadata", "é\""]).prop_map(str::to_owned), json());
    let entries = vec(entry, 0..3).prop_map(|entries| entries.into_iter().collect());
    prop_oneof![2 => Just(Metadata::default()), 1 => entries]
}

fn simple_part() -> impl Strategy<Value = Part> {
    let input = prop_oneof![json().prop_map(ToolInput::Json), text().prop_map(ToolInput::Invalid)];
    prop_oneof![
        6 => text().prop_map(Part::text),
        2 => (text(), metadata()).prop_map(|(text, metadata)| {
            Part::Text(Text { text: text.into(), metadata })
        }),
        2 => (text(), text(), input, metadata()).prop_map(|(id, name, input, metadata)| {
            Part::ToolCall(ToolCall { id, name, input, metadata })
        }),
        1 => (text(), metadata()).prop_map(|(text, metadata)| {
            Part::Reasoning(Reasoning { text: text.into(), metadata, ..Reasoning::default() })
        }),
        1 => (text(), metadata()).prop_map(|(url, metadata)| {
            let source = MediaSource::Url(url);
            Part::Image(Media { source, media_type: None, name: None, metadata })
        }),
        1 => json().prop_map(|value| Part::Data(Data { name: "d".into(), value })),
        1 => json().prop_map(|value| Part::Opaque(OpaqueBlock { provider: "p".into(), value })),
        1 => Just(Part::Unknown(Json::from_text(r#"{"type":"new", "x":1}"#).unwrap())),
    ]
}

fn part() -> impl Strategy<Value = Part> {
    let result = (text(), vec(simple_part(), 0..3), any::<bool>(), metadata());
    let result = result.prop_map(|(call_id, output, is_error, metadata)| {
        Part::ToolResult(ToolResult { call_id, name: None, output, is_error, metadata })
    });
    prop_oneof![5 => simple_part(), 1 => result]
}

fn message() -> impl Strategy<Value = Message> {
    let role = select(vec![Role::System, Role::User, Role::Assistant, Role::Tool]);
    (role, vec(part(), 0..4), metadata())
        .prop_map(|(role, parts, metadata)| Message::new(role, parts).with_metadata(metadata))
}

/// A change of bytes.
#[derive(Clone, Debug)]
enum Change {
    Set(Index, u8),
    Insert(Index, &'static str),
    Remove(Index, usize),
    Repeat(Index, usize),
    Cut(Index),
}

fn change() -> impl Strategy<Value = Change> {
    let pieces = [
        " ",
        "\"",
        "\\",
        "\\n",
        "\\u00e9",
        "\\ud800",
        "\\ud83d\\ude00",
        ",",
        "{",
        "}",
        "[",
        "]",
        "{}",
        "null",
        "1",
        "\n",
        "\u{0}",
        "é",
        r#""type":"text","#,
        r#","text":"again""#,
        r#","x":1"#,
        r#","metadata":{}"#,
        r#","role":"user""#,
        r#","parts":[]"#,
        r#"{"type":"text","text":"x"},"#,
    ];
    prop_oneof![
        2 => (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Change::Set(at, byte)),
        4 => (any::<Index>(), select(pieces.to_vec())).prop_map(|(at, s)| Change::Insert(at, s)),
        2 => (any::<Index>(), 1usize..30).prop_map(|(at, length)| Change::Remove(at, length)),
        2 => (any::<Index>(), 1usize..60).prop_map(|(at, length)| Change::Repeat(at, length)),
        1 => any::<Index>().prop_map(Change::Cut),
    ]
}

fn changed(mut bytes: Vec<u8>, changes: &[Change]) -> Vec<u8> {
    for change in changes {
        let range = |at: &Index, length: usize| {
            let start = at.index(bytes.len() + 1);
            start..bytes.len().min(start + length)
        };
        match change {
            Change::Set(at, byte) => {
                let range = range(at, 1);
                bytes[range].fill(*byte);
            }
            Change::Insert(at, piece) => {
                let range = range(at, 0);
                bytes.splice(range, piece.bytes());
            }
            Change::Remove(at, length) => {
                let range = range(at, *length);
                bytes.drain(range);
            }
            Change::Repeat(at, length) => {
                let range = range(at, *length);
                bytes.splice(range.end..range.end, bytes[range].to_vec());
            }
            Change::Cut(at) => bytes.truncate(at.index(bytes.len() + 1)),
        }
    }
    bytes
}

/// Reads a message as a node of a chain, and returns its body once the chain has released the
/// stored bytes, if it does.
fn body_after_reading(bytes: &[u8]) -> Vec<u8> {
    let read: ReadRun = |bytes| {
        let body = Encoded::new(Message::KIND, 1, bytes.clone());
        let kind = NodeKind::Message(Role::User);
        vec![Arc::new(Node::from_encoded("m".into(), kind, Timestamp::default(), body))]
    };
    let chain = Chain::from_lazy(0, [LazyRun { len: 1, bytes: bytes.to_vec().into(), read }]);
    let _read = chain[0].message().is_ok();
    chain[0].body().bytes().to_vec()
}

/// Reads bytes both ways, and returns what both gave.
fn read(bytes: &[u8]) -> Result<Message, String> {
    assert_eq!(body_after_reading(bytes), bytes);
    let decoded = match Message::decode(&Encoded::new(Message::KIND, 1, bytes.to_vec())) {
        Ok(message) => Ok(message),
        Err(CodecError::Malformed { source, .. }) => Err(source.to_string()),
        Err(other) => panic!("{other}"),
    };
    let general = serde_json::from_slice::<Message>(bytes).map_err(|error| error.to_string());
    let shown = String::from_utf8_lossy(bytes);
    assert_eq!(decoded, general, "{shown}");
    if let (Ok(decoded), Ok(general)) = (&decoded, &general) {
        // Equality of metadata does not compare the order of keys.
        assert_eq!(decoded.encode(), general.encode(), "{shown}");
    }
    decoded
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn a_message_reads_back_either_way(message in message()) {
        prop_assert_eq!(read(message.encode().bytes()), Ok(message));
    }

    #[test]
    fn changed_bytes_read_the_same_either_way(
        message in message(), changes in vec(change(), 1..4),
    ) {
        let _either = read(&changed(message.encode().bytes().to_vec(), &changes));
    }

    #[test]
    fn any_byte_in_a_text_reads_the_same_either_way(text in vec(any::<u8>(), 0..80)) {
        let body = [br#"{"role":"user","parts":[{"type":"text","text":""#, &*text, br#""}]}"#];
        let _either = read(&body.concat());
    }
}

#[test]
fn forms_at_the_edge_read_the_same_either_way() {
    let text = r#"{"type":"text","text":"hi"}"#;
    let call = r#"{"type":"tool_call","id":"c","name":"n","input":{"json":"#;
    let result = r#"{"type":"tool_result","call_id":"c""#;
    let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    for (rest, is_readable) in [
        (format!("[{text}]}}"), true),
        (format!("[{text},{text}]}}"), true),
        ("[]}".into(), true),
        (format!("[{text}] }}"), true),
        (format!("[ {text} , {text} ]}}\n"), true),
        (format!("[{text}],\"metadata\":{{}}}}"), true),
        (format!("[{text}],\"metadata\":{{\"a\":{deep}}}}}"), true),
        (format!("[{text}],\"more\":1}}"), true),
        (r#"[{"type":"text","text":"a","metadata":{"b":1}}]}"#.into(), true),
        (r#"[{"type":"text","text":"a\u00e9\n"},{"text":"b","type":"text"}]}"#.into(), true),
        (format!(r#"[{{"type":"data","name":"d","value":{deep}}}]}}"#), true),
        (format!("[{text},]}}"), false),
        (format!("[{text}"), false),
        (format!("[{text}]}}}}"), false),
        (format!("[{text}],\"parts\":[]}}"), false),
        (format!("[{text}],\"metadata\":{{}},\"metadata\":{{}}}}"), false),
        (format!("[{text}],\"metadata\":null}}"), false),
        (r#"[{"type":"text","text":"a","text":"b"}]}"#.into(), false),
        (r#"[{"type":"text","text":"a","type":"text"}]}"#.into(), false),
        (format!("[{call}{{\"a\":[1, 2]}}}}}}]}}"), true),
        (format!("[{call}1}}}}]}}"), true),
        (format!("[{call} {{}} }}}}]}}"), true),
        (format!("[{call}{{\"a\":}}}}}}]}}"), false),
        (r#"[{"type":"tool_call","id":"c","name":"n"}]}"#.into(), false),
        (format!("[{result},\"output\":[{text}],\"is_error\":true}}]}}"), true),
        (format!("[{result},\"output\":[],\"is_error\":false}}]}}"), true),
        (format!("[{result},\"name\":null,\"output\":[{text}]}}]}}"), true),
        (format!("[{result},\"output\":[{result}}}]}}]}}"), true),
        (format!("[{result},\"output\":[{text}],\"output\":[]}}]}}"), false),
        (r#"[{"type":"text","text":"\ud800"}]}"#.into(), false),
        ("[{\"type\":\"text\",\"text\":\"a\nb\"}]}".into(), false),
        ("[1]}".into(), false),
        ("[\"text\"]}".into(), false),
    ] {
        let body = format!(r#"{{"role":"user","parts":{rest}"#);
        assert_eq!(read(body.as_bytes()).is_ok(), is_readable, "{body}");
    }
}
