//! The sources of answers, found in the messages alone.

use std::sync::Arc;

use context_runtime::provenance::{
    AnswerPlace, DataLink, Occurrence, ProvenanceIndex, SourcePlace, ValueKind,
};
use context_runtime::store::{Chain, Node};
use context_runtime::{Message, MessageId, Part, Role, Timestamp};
use insta::{assert_json_snapshot, assert_snapshot};
use proptest::prelude::*;
use serde_json::json;

fn chain(messages: impl IntoIterator<Item = Message>) -> Chain {
    let nodes = messages.into_iter().enumerate().map(|(i, message)| {
        Arc::new(Node::new(format!("m{i}"), message, Timestamp::from_micros(i as i64)))
    });
    Chain::from_nodes(0, nodes)
}

fn id(position: usize) -> MessageId {
    format!("m{position}").into()
}

fn user(text: &str) -> Message {
    Message::text(Role::User, text)
}

fn says(text: &str) -> Message {
    Message::text(Role::Assistant, text)
}

fn calls(id: &str, tool: &str, input: serde_json::Value) -> Message {
    Message::new(Role::Assistant, [Part::tool_call(id, tool, input)])
}

fn returns(id: &str, text: &str) -> Message {
    Message::new(Role::Tool, [Part::tool_result(id, text)])
}

/// A trip that is cancelled, in the form of the recorded conversations of airlines.
fn cancelled_trip() -> Chain {
    chain([
        user("Hi, I am James Patel (james_patel_9828), mail James@Example.org. Cancel my trip."),
        calls("c1", "get_user", json!({"user_id": "james_patel_9828"})),
        returns("c1", r#"{"email": "james@example.org", "reservations": ["GV1N64", "XGV1N641"]}"#),
        calls("c2", "get_reservation", json!({"id": "GV1N64"})),
        returns(
            "c2",
            "{\"id\": \"GV1N64\", \"cabin\": \"business\", \"flights\": [{\"number\": \"HAT003\", \
             \"date\": \"2024-05-19\", \"price\": 1339}], \"note\": \"a \\\"gift\\\" of\\nHAT170\", \
             \"insurance\": \"no\"}",
        ),
        says(
            "Reservation **GV1N64** is in business, flight HAT003 on 2024-05-19 for $1,339.00. \
             HAT170 was a gift. Cancel?",
        ),
        user("Yes, for a change of plan."),
        calls("c3", "cancel", json!({"id": "GV1N64", "why": {"reason": "change of plan"}})),
        returns("c3", "done: refund R-7781"),
        says("Cancelled. The refund is R-7781, and james@example.org gets a mail."),
    ])
}

/// Draws links as lines for people.
fn drawn(links: &[DataLink]) -> String {
    let place = |place: &SourcePlace| match place {
        SourcePlace::ToolResult { tool, pointer, .. } => format!(
            "result of {}{}",
            tool.as_deref().unwrap_or("?"),
            pointer.as_ref().map(|pointer| format!(" at {pointer}")).unwrap_or_default()
        ),
        SourcePlace::ToolCall { tool, .. } => format!("call of {tool}"),
        SourcePlace::Data { name, .. } => format!("data {name}"),
        _ => "text".into(),
    };
    let seen = |seen: &Occurrence| {
        let message = seen.message.as_ref().map_or("prompt", MessageId::as_str);
        format!("{message} {} {}", seen.role, place(&seen.place))
    };
    let mut out = String::new();
    for link in links {
        let at = match &link.place {
            AnswerPlace::Argument { tool, pointer, .. } => format!("{tool}{pointer}"),
            _ => "text".into(),
        };
        out += &format!(
            "{:.2} {:?} {:?} in {} {at} <- {}",
            link.strength,
            link.kind,
            link.value,
            link.answer,
            seen(&link.first)
        );
        out += &link.last.as_ref().map(|last| format!("; {}", seen(last))).unwrap_or_default();
        out.push('\n');
    }
    out
}

#[test]
fn an_answer_is_traced_to_the_results_and_the_user() {
    let index = ProvenanceIndex::of(&cancelled_trip());
    let mut all = String::new();
    for answer in [1, 3, 5, 7, 9] {
        all += &drawn(&index.sources(&id(answer)).unwrap().links);
    }
    assert_snapshot!(all);
    assert_json_snapshot!(index.sources(&id(7)).unwrap());
}

#[test]
fn a_source_names_the_answers_that_used_its_values() {
    let index = ProvenanceIndex::of(&cancelled_trip());
    assert_snapshot!(drawn(&index.uses(&id(2)).unwrap().links));
    assert_snapshot!(drawn(&index.uses(&id(0)).unwrap().links));
    assert!(index.uses(&"other".into()).is_none() && index.sources(&"other".into()).is_none());
    assert!(index.sources(&id(4)).unwrap().links.is_empty()); // not an answer
}

#[test]
fn values_are_whole_tokens() {
    let found = |source: &str, answer: &str| {
        let index = ProvenanceIndex::of(&chain([user(source), says(answer)]));
        index.sources(&id(1)).unwrap().links.first().map(|link| link.value.clone())
    };
    for (source, answer, value) in [
        ("XEHGLP34", "EHGLP3", None),
        ("the EHGLP3.", "(EHGLP3)", Some("EHGLP3")),
        ("ehglp3", "EHGLP3", None),
        ("Ada@Example.org", "ada@example.org", Some("ada@example.org")),
        ("x.ada@example.org", "ada@example.org", None),
        ("1339.50", "1339", None),
        ("1,339", "$1339.00", Some("1339.00")),
        ("at 2024-05-03T05:35:00", "2024-05-03", Some("2024-05-03")),
        ("/repo/src/main.rs:12: fn", "see src/main.rs", Some("src/main.rs")),
        ("true false null 12", "true false null 12", None),
        ("see https://a.io/x?y=1.", "https://a.io/x?y=1", Some("https://a.io/x?y=1")),
        ("订单EHGLP3已取消", "EHGLP3", Some("EHGLP3")),
        ("call `set_tool_results`", "set_tool_results()", Some("set_tool_results")),
        ("for a change of plan, really", "\"change of plan\"", Some("change of plan")),
        ("a change of planes", "\"change of plan\"", None),
        ("Reason: change of plan.", "\"change of plan\"", Some("change of plan")),
    ] {
        assert_eq!(found(source, answer).as_deref(), value, "{answer} in {source}");
    }
}

#[test]
fn the_system_prompt_is_a_source_and_common_values_are_none() {
    let mut messages = vec![user("Which desk?")];
    for i in 0..20 {
        messages.push(says(&format!("DESK7 and CODE{i}0")));
    }
    messages.push(says("HELP42"));
    let mut index = ProvenanceIndex::with_system_prompt("Send people to HELP42.", &chain(messages));
    assert_eq!(index.sources(&id(21)).unwrap().links[0].first.message, None);
    assert_eq!(index.uses_of_system_prompt().links[0].value, "HELP42");
    assert!(index.sources(&id(20)).unwrap().links.is_empty(), "DESK7 is everywhere");

    index.extend(&cancelled_trip()); // another chain
    assert!(index.uses_of_system_prompt().links.is_empty());
    assert_eq!(index.chain().len(), 10);
}

fn any_chain() -> impl Strategy<Value = Vec<Message>> {
    let word = prop::sample::select(vec![
        "EHGLP3",
        "XEHGLP34",
        "ada@a.io",
        "ADA@a.io",
        "1,339.00",
        "1339",
        "12.5",
        "2024-05-19",
        "2024-05-03T05:35:00",
        "src/main.rs",
        "/repo/src/main.rs:7",
        "business",
        "set_it",
        "\"a b\"",
        "https://a.io/?q=1",
        "订单",
        "é",
        "the",
        "James Patel",
        "`x_y`",
        ".",
        ",",
        "\n",
        "…",
        "\\n",
    ]);
    let text = prop::collection::vec((word, prop::sample::select(vec!["", " "])), 0..8)
        .prop_map(|words| words.into_iter().map(|(word, gap)| format!("{word}{gap}")).collect());
    let message =
        (0..5, text, "[a-z/~]{0,2}").prop_map(|(kind, text, key): (_, String, _)| match kind {
            0 => user(&text),
            1 => says(&text),
            2 => calls("c", "tool", json!({"a": [{key: text}]})),
            3 => returns("c", &json!([text, {key: 1339}]).to_string()),
            _ => returns("c", &text),
        });
    prop::collection::vec(message, 0..24)
}

/// Returns every text in which a value of the message may be quoted.
fn texts(message: &Message) -> Vec<String> {
    fn strings(value: &serde_json::Value, out: &mut Vec<String>) {
        match value {
            serde_json::Value::String(text) => out.push(text.clone()),
            serde_json::Value::Array(items) => items.iter().for_each(|item| strings(item, out)),
            serde_json::Value::Object(map) => map.iter().for_each(|(key, value)| {
                out.push(key.clone());
                strings(value, out);
            }),
            _ => {}
        }
    }
    let mut out: Vec<String> = Vec::new();
    for part in &message.parts {
        match part {
            Part::Text(text) => out.push(text.text.to_string()),
            Part::ToolCall(call) => out.push(call.input.as_written().to_owned()),
            Part::ToolResult(result) => {
                out.extend(result.output.iter().filter_map(|part| match part {
                    Part::Text(text) => Some(text.text.to_string()),
                    _ => None,
                }));
            }
            _ => {}
        }
    }
    for text in out.clone() {
        if let Ok(value) = serde_json::from_str(&text) {
            strings(&value, &mut out);
        }
    }
    out
}

fn check_quote(chain: &Chain, link: &DataLink, seen: &Occurrence) -> Result<(), TestCaseError> {
    let position = chain.position(seen.message.as_ref().unwrap()).unwrap();
    let quote = &seen.quote;
    let before = quote.before.strip_prefix('…').unwrap_or(&quote.before);
    let after = quote.after.strip_suffix('…').unwrap_or(&quote.after);
    let text = format!("{before}{}{after}", quote.value);
    let message = chain[position].message().unwrap();
    prop_assert!(texts(message).iter().any(|whole| whole.contains(&text)), "{text:?}");
    let plain = |text: &str| text.replace(',', "").to_lowercase();
    let whole = plain(&quote.value) == plain(&link.value)
        || (link.kind == ValueKind::Number
            && plain(&quote.value).parse::<f64>().ok() == plain(&link.value).parse().ok());
    prop_assert!(whole, "{link:?}");
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == 'é';
    let stamp = link.kind == ValueKind::Date && after.starts_with('T');
    prop_assert!(!before.ends_with(word), "{link:?}");
    prop_assert!(stamp || !after.starts_with(word), "{link:?}");
    Ok(())
}

proptest! {
    #[test]
    fn quotes_hold_the_value_and_uses_are_the_inverse(messages in any_chain(), cut in 0usize..24) {
        let all = chain(messages);
        let index = ProvenanceIndex::of(&all);
        let mut grown = ProvenanceIndex::of(&all.prefix(cut));
        grown.extend(&all);
        let (mut sources, mut uses) = (Vec::new(), Vec::new());
        for position in 0..all.len() {
            let of_answer = index.sources(&id(position)).unwrap();
            prop_assert_eq!(&of_answer, &grown.sources(&id(position)).unwrap());
            for link in &of_answer.links {
                prop_assert!((0.0..=1.0).contains(&link.strength));
                for seen in [Some(&link.first), link.last.as_ref()].into_iter().flatten() {
                    let source = all.position(seen.message.as_ref().unwrap()).unwrap();
                    prop_assert!(source < position);
                    check_quote(&all, link, seen)?;
                }
            }
            sources.extend(of_answer.links);
            let of_source = index.uses(&id(position)).unwrap();
            prop_assert_eq!(&of_source, &grown.uses(&id(position)).unwrap());
            for link in &of_source.links {
                prop_assert_eq!(link.first.message.as_ref(), Some(&id(position)));
            }
            uses.extend(of_source.links);
        }
        let order = |links: &mut Vec<DataLink>| {
            links.sort_by_key(|link| serde_json::to_string(link).unwrap());
        };
        order(&mut sources);
        order(&mut uses);
        prop_assert_eq!(sources, uses);
    }
}

/// A run in which an airline's agent cancels a reservation: the id came from the user, and the
/// class, the flights and the dates of the answer from the result of `get_reservation_details`.
#[cfg(all(feature = "openai", feature = "anthropic", feature = "gemini", feature = "uimessage"))]
#[test]
#[ignore = "needs test data; `cargo xtask test` runs it"]
fn a_recorded_cancellation_is_explained() {
    let chats = crate::recorded_chats::all_chats();
    let cancels =
        |message: &Message| message.tool_calls().any(|call| call.name == "cancel_reservation");
    let (mut explained, mut kinds) = (0, Vec::new());
    for recorded in chats.into_iter().filter(|chat| chat.name.starts_with("tau-bench")) {
        let Some(at) = recorded.messages.iter().position(cancels) else { continue };
        let all = chain(recorded.messages);
        let index = ProvenanceIndex::of(&all);
        let links = index.sources(&id(at)).unwrap().links;
        let is_id = |link: &&DataLink| {
            matches!(&link.place,
            AnswerPlace::Argument { pointer, .. } if pointer == "/reservation_id")
        };
        let reservation = links.iter().find(is_id).expect("the id of the reservation has a source");
        let newest = reservation.last.as_ref().unwrap_or(&reservation.first);
        let details = |place: &SourcePlace| match place {
            SourcePlace::ToolResult { tool: Some(tool), .. } => tool.starts_with("get_"),
            _ => false,
        };
        assert!(details(&newest.place), "{}: {newest:?}", recorded.name);
        assert!(newest.quote.after.contains("cabin"), "the quote shows the class of the fare");
        // What the conversation before it told the user of the trip is in the same result.
        let told = (0..at).flat_map(|at| index.sources(&id(at)).unwrap().links);
        kinds.extend(
            told.filter(|link| newest.message == link.last.as_ref().unwrap_or(&link.first).message)
                .map(|link| link.kind),
        );
        explained += 1;
    }
    println!("{explained} cancellations explained");
    assert!(kinds.contains(&ValueKind::Date) && kinds.contains(&ValueKind::Word));
}
