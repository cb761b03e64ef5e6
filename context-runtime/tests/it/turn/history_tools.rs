//! History tools: a model searches and reads its conversation, sees its window, and compacts.

use context_runtime::{HistoryTools, Message, Part, Spill, Spilled, ToolCall, ToolResult};

use super::*;
use crate::compactions::compact;
use crate::kit::{engine, say, store};

fn call(name: &str, input: serde_json::Value) -> ToolCall {
    let Part::ToolCall(call) = Part::tool_call("c1", name, input) else { unreachable!() };
    call
}

fn said(result: &ToolResult) -> String {
    let Part::Text(text) = &result.output[0] else { panic!("{result:?}") };
    text.text.to_string()
}

/// A fact of the second message was compacted away. The model looks for it, and reads it.
#[tokio::test]
async fn what_was_compacted_away_is_found_and_read() {
    let store = store().await;
    let mut chat = engine(&store).await;
    chat.set([say("u1", "Plan a trip."), say("a1", "To where?"), say("u2", "Seat 14C in Lisbon.")]);
    chat.set([say("a2", "Noted."), say("u3", "What else?")]);
    let _saved = chat.save().await.unwrap();
    compact(&mut chat, &[(None, Some("so far")), (Some(4), None)]).await;

    let (at, branch) = (chat.chat_ref().clone(), chat.branch().clone());
    let tools = HistoryTools::new(&*store, at, branch);
    let names: Vec<_> = tools.tools().into_iter().map(|tool| tool.name).collect();
    assert_eq!(
        names,
        [HistoryTools::SEARCH, HistoryTools::READ],
        "without a runtime there is no window"
    );

    let found = tools.answer(&call(HistoryTools::SEARCH, json!({"words": "seat lisbon"}))).await;
    assert_eq!(
        said(&found),
        "[messages with the words: seat lisbon]\n#3 user, 1970-01-01: Seat 14C in Lisbon.\n"
    );
    let read = tools.answer(&call(HistoryTools::READ, json!({"first": 2, "last": 3}))).await;
    insta::assert_snapshot!(said(&read), @r"
    [messages 2 to 3 of 6]
    #2 assistant, 1970-01-01
    To where?

    #3 user, 1970-01-01
    Seat 14C in Lisbon.
    ");
    let whole = tools.answer(&call(HistoryTools::READ, json!({"first": 1, "last": 99}))).await;
    assert!(said(&whole).contains("#6 boundary"), "{}", said(&whole));

    for (name, input, says) in [
        (
            HistoryTools::READ,
            json!({"first": 7}),
            "There is no message 7: they are numbered from 1 to 6.",
        ),
        (
            HistoryTools::READ,
            json!({"first": 0}),
            "There is no message 0: they are numbered from 1 to 6.",
        ),
        (
            HistoryTools::READ,
            json!({"first": 1, "last": 2, "offset": 5}),
            "An offset needs a single message",
        ),
        (
            HistoryTools::READ,
            json!({"last": 2}),
            "The arguments were not understood: missing field `first`",
        ),
        (
            HistoryTools::SEARCH,
            json!({}),
            "The arguments were not understood: missing field `words`",
        ),
        ("forget_all", json!({}), "There is no tool forget_all here."),
    ] {
        let refused = tools.answer(&call(name, input)).await;
        assert!(refused.is_error && said(&refused).starts_with(says), "{refused:?}");
    }
    let none = tools.answer(&call(HistoryTools::SEARCH, json!({"words": "zeppelin"}))).await;
    assert!(!none.is_error && said(&none).starts_with("No message has all of these words"));
}

/// A long message, and a result that was spilled, are read in parts that join to the whole.
#[tokio::test]
async fn a_long_message_and_a_spilled_result_are_read_in_parts() {
    let store = store().await;
    let mut chat = engine(&store).await;
    let long: String = (0..3_000).map(|n| format!("line {n} äöü\n")).collect();
    let spill = Spill::new(Arc::clone(&store)).unwrap();
    let blob = spill.put(chat.chat_ref(), long.clone(), "text/plain").await.unwrap();
    let mut result = call("log", json!({})).result("line 0 …");
    let record = json!({"blob": blob.id, "bytes": blob.bytes, "reason": "tool_result_too_large"});
    result.metadata.insert(Spilled::KEY, record);
    assert!(Spilled::of(&result.metadata).is_some());
    let asked = Message::new(Role::Assistant, [Part::ToolCall(call("log", json!({})))]);
    chat.set([Message::from(long.clone()), asked, Message::tool([result])]);
    let _saved = chat.save().await.unwrap();

    let (at, branch) = (chat.chat_ref().clone(), chat.branch().clone());
    let tools = HistoryTools::new(&*store, at, branch);
    for (number, before) in [(1, ""), (3, "← log ")] {
        let (mut whole, mut offset) = (String::new(), 0);
        loop {
            let input = json!({"first": number, "offset": offset});
            let read = said(&tools.answer(&call(HistoryTools::READ, input)).await);
            assert!(read.len() <= 8_200, "a result is never spilled itself");
            let (note, rest) = read.split_once("]\n").unwrap();
            whole += rest.split_once('\n').unwrap().1;
            match note.split_once("go on with offset ") {
                Some((_, next)) => offset = next.parse().unwrap(),
                None => break,
            }
        }
        assert_eq!(whole.strip_prefix(before), Some(&*long), "message {number}");
    }
    let several =
        said(&tools.answer(&call(HistoryTools::READ, json!({"first": 1, "last": 3}))).await);
    assert!(several.starts_with("[message 1 of 3 is too long to show with others; read it alone]"));
}

/// The turn offers the tools and answers them itself; the program sees none of the calls.
#[tokio::test]
async fn a_turn_offers_and_answers_them_and_compacts_when_the_model_asks() {
    let store = store().await;
    let says = |request: &ModelRequest| {
        let results = request.messages.iter().flat_map(|message| message.tool_results()).count();
        let is_summary = request.tools.is_empty();
        match results {
            _ if is_summary => vec![AnswerPiece::text(
                "## Objective\nA trip\n## Current state\nOpen\n## Remaining\nBook\n## Files and artifacts\nNone",
            )],
            0 if request.messages.len() > 20 => vec![
                AnswerPiece::call(HistoryTools::STATUS, json!({})),
                AnswerPiece::call(HistoryTools::SEARCH, json!({"words": "museum"})),
                AnswerPiece::call(HistoryTools::COMPACT, json!({"instructions": "Keep the seat."})),
            ],
            _ => vec![AnswerPiece::text("Done.")],
        }
    };
    let model = simulator(says);
    let agents = builder(&store).history_tools(true).client(Arc::new(model)).build().unwrap();
    let mut chat = chat(&agents).await;
    for n in 0..12 {
        let text = format!("Question {n} about the museum. {}", "It was long ago. ".repeat(60));
        chat.engine_mut().set([say(&format!("u{n}"), &text), say(&format!("a{n}"), &text)]);
    }
    let _saved = chat.engine_mut().save().await.unwrap();

    let answer = chat.ask("Seat 14C, please.").await.unwrap();
    assert_eq!(answer.text(), "Done.");
    assert!(answer.report.not_run.is_empty(), "{:?}", answer.report);
    let plans: Vec<_> = answer.report.plans.iter().filter(|plan| plan.applied).collect();
    assert_eq!(plans.len(), 1, "{plans:?}");
    assert_eq!(
        (plans[0].policy, plans[0].reason.as_str()),
        ("summarize", "a model wrote the summary")
    );

    let tools = HistoryTools::new(&**agents.store(), ("ada", "lisbon").into(), "main".into());
    let read = said(&tools.answer(&call(HistoryTools::READ, json!({"first": 27}))).await);
    assert!(read.contains("Window: 200000 tokens") && read.contains("- conversation: "), "{read}");
    assert!(read.contains("Left: "), "{read}");
    assert!(read.contains("[messages with the words: museum]"), "{read}");
    assert!(read.contains("is compacted before the next call"), "{read}");
}
