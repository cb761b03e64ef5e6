//! Shortening where leaving out messages is not enough.

use context_core::history::HistoryView;
use context_core::message::{Media, ToolInput};
use context_core::model::{MediaKind, TokenCount, TokenCounter};
use context_core::{Json, Message, Part, Role};
use context_policy_truncate_head::{Measure, TruncateHead, truncate_head};

use crate::{Bytes, assistant, call, history, left, result, user};

/// The case: a file was pasted into the only message. No share of one message is smaller than it,
/// so it was sent again and again.
#[test]
fn a_single_message_larger_than_the_window_is_shortened_inside() {
    let text = format!("summarise this: {} thanks", "word ".repeat(2_000));
    let messages = history([user(&text)]);
    let short = left(&messages, |view| truncate_head(view, 0.25)).unwrap();
    assert_eq!(short.origins, [Some(0)]);
    let text = short.messages[0].plain_text();
    assert!(text.starts_with("summarise this: ") && text.ends_with(" thanks"), "{text}");
    assert!(text.contains("\n[… the middle was left out …]\n"));
    assert!(text.len() as u64 <= HistoryView::new(&messages, &Bytes).total() / 4);
}

/// Regression test: a provider refused a conversation of one short request as too long, and the
/// next try asked nothing but `[left out]`.
#[test]
fn a_short_request_is_never_only_a_note() {
    let messages = history([user("When does the train leave?")]);
    for ratio in [0.5, 0.25, 0.05] {
        assert!(left(&messages, |view| truncate_head(view, ratio)).is_none(), "{ratio}");
    }
    let long = history([user(&"When does the train leave? ".repeat(40)), assistant("ok")]);
    let short = left(&long, |view| truncate_head(view, 0.05)).unwrap();
    let text = short.messages[0].plain_text();
    assert!(text.starts_with('W') && text.contains("was left out"), "{text}");
}

#[test]
fn results_of_tools_are_shortened_before_what_the_user_wrote() {
    let request = "why does it fail? ".repeat(20);
    let messages = history([
        user(&request),
        call("c1"),
        Message::new(
            Role::Tool,
            [Part::tool_result("c1", "log ".repeat(5_000)), Part::tool_result("c0", "short")],
        ),
    ]);
    let short = left(&messages, |view| truncate_head(view, 0.1)).unwrap().messages.to_vec();
    assert_eq!(short[..2], messages[..2]);
    let [Part::ToolResult(long), Part::ToolResult(brief)] = &short[2].parts[..] else {
        panic!("two results")
    };
    assert_eq!((long.call_id.as_str(), long.is_error), ("c1", false));
    assert_eq!(brief.output, [Part::text("short")]);
    assert!(
        HistoryView::new(&short, &Bytes).total()
            <= HistoryView::new(&messages, &Bytes).total() / 10
    );
}

/// Regression test: the preview of an output that is kept elsewhere was cut in its middle, where it
/// names the place, so the model could not read the rest.
#[test]
fn a_shortened_preview_still_says_where_all_of_it_is() {
    let blob = format!("blob:{}", "5".repeat(64));
    let note = format!("[Too long to show whole. All of it is kept as {blob}]");
    let preview = format!("{}\n{note}\n{}", "first ".repeat(500), "last ".repeat(500));
    let Part::ToolResult(mut spilled) = Part::tool_result("c1", preview) else {
        panic!("a result")
    };
    spilled.metadata.insert("spilled", serde_json::json!({ "blob": blob }));
    let messages = history([user("why?"), call("c1"), Message::tool([spilled])]);
    let short = left(&messages, |view| truncate_head(view, 0.2)).unwrap().messages.to_vec();
    let shown = short[2].tool_results().next().unwrap();
    let [Part::Text(text)] = &shown.output[..] else { panic!("a text") };
    let lines: Vec<_> = text.text.lines().collect();
    assert!(lines.contains(&&*note) && text.text.len() < 1_300, "{}", text.text);
}

#[test]
fn inputs_of_calls_stay_json_when_nothing_else_helps() {
    let input = serde_json::json!({ "path": "a.rs", "content": "fn main() {} ".repeat(500) });
    let messages = history([
        user("write it"),
        Message::new(Role::Assistant, [Part::tool_call("c1", "write", input)]),
        result("c1", "written"),
    ]);
    let short = left(&messages, |view| truncate_head(view, 0.1)).unwrap().messages.to_vec();
    let [Part::ToolCall(call)] = &short[1].parts[..] else { panic!("a call") };
    let ToolInput::Json(input) = &call.input else { panic!("JSON") };
    let input: serde_json::Value = input.parse().unwrap();
    let told = |text: &str| text.starts_with("{\"") && text.contains("the middle was left out");
    assert!(input["shortened"].as_str().is_some_and(told), "{input}");
    assert_eq!((call.id.as_str(), call.name.as_str()), ("c1", "write"));
    assert_eq!((&short[0], &short[2]), (&messages[0], &messages[2]));
}

#[test]
fn media_of_a_step_that_must_stay_give_way_to_notes() {
    let image = |name: &str| {
        let form = format!(r#"{{"type":"image","source":{{"url":"https://example.com/{name}"}}}}"#);
        let message = format!(r#"{{"role":"user","parts":[{form}]}}"#);
        let message: Message = Json::from_text(message).unwrap().parse().unwrap();
        message.parts.into_iter().next().unwrap()
    };
    let messages = history([Message::new(
        Role::User,
        [Part::text("compare"), image("a.png"), image("b.png")],
    )]);
    let short = left(&messages, |view| truncate_head(view, 0.05)).unwrap().messages.to_vec();
    assert_eq!(short[0].plain_text(), "compare\n[image left out]\n[image left out]");
}

#[test]
fn a_share_of_messages_shortens_nothing() {
    let policy = TruncateHead::new().measure(Measure::Messages).gaps(false);
    assert_eq!(left(&history([user(&"x".repeat(9_000))]), |view| policy.keep(view, 0.25)), None);
}

#[test]
fn a_goal_that_cannot_be_reached_does_not_cost_everything() {
    let messages = history([
        user(&"who am I? ".repeat(50)),
        assistant(&"you are Ada. ".repeat(50)),
        user("thanks"),
    ]);
    let short =
        left(&messages, |view| TruncateHead::new().keep_tokens(view, 3)).unwrap().messages.to_vec();
    assert_eq!(short.last(), messages.last());
    assert!(HistoryView::new(&short, &Bytes).total() < 200);
}

fn said(parts: &[Part]) -> String {
    Message::new(Role::User, parts.iter().cloned()).plain_text().into_owned()
}

/// The user's text is longer than the rest of the result, and still stays whole.
#[test]
fn a_request_is_not_shortened_while_results_can_be() {
    let request = "why does it fail? ".repeat(20);
    let messages = history([user(&request), call("c1"), result("c1", &"log ".repeat(1_000))]);
    let keep = request.len() as u64 + 120;
    let short = left(&messages, |view| TruncateHead::new().keep_tokens(view, keep))
        .unwrap()
        .messages
        .to_vec();
    assert_eq!(short[0], messages[0]);
    assert!(HistoryView::new(&short, &Bytes).total() <= keep);
}

#[test]
fn long_texts_become_equally_long_from_both_ends_and_short_ones_stay() {
    let texts = ["ab ".repeat(1_000), "cd ".repeat(300), "brief ".repeat(25), "ef ".repeat(500)];
    let parts =
        texts.iter().enumerate().map(|(n, text)| Part::tool_result(format!("c{n}"), text.as_str()));
    let calls = (0..4).map(|n| Part::tool_call(format!("c{n}"), "log", serde_json::json!({})));
    let messages = history([
        user("go"),
        Message::new(Role::Assistant, calls),
        Message::new(Role::Tool, parts),
    ]);
    let goal = 900;
    let short = left(&messages, |view| TruncateHead::new().keep_tokens(view, goal))
        .unwrap()
        .messages
        .to_vec();
    let total = HistoryView::new(&short, &Bytes).total();
    assert!((goal * 9 / 10..=goal).contains(&total), "{total} of {goal}");
    let shown: Vec<String> = short[2].tool_results().map(|result| said(&result.output)).collect();
    assert_eq!(shown[2], texts[2]);
    let mut lengths = [0, 1, 3].map(|n| {
        let (head, tail) = shown[n].split_once("\n[… the middle was left out …]\n").unwrap();
        assert!(texts[n].starts_with(head) && texts[n].ends_with(tail), "cut once");
        assert!(head.len().abs_diff(tail.len()) <= 1, "{} and {}", head.len(), tail.len());
        shown[n].len()
    });
    lengths.sort_unstable();
    assert!(lengths[2] - lengths[0] <= 6, "{lengths:?}");
}

#[test]
fn what_is_no_longer_than_a_note_is_not_replaced_by_one() {
    let messages = history([user("ten bytes!"), assistant(&"x".repeat(100))]);
    let short = left(&messages, |view| TruncateHead::new().keep_tokens(view, 15))
        .unwrap()
        .messages
        .to_vec();
    assert_eq!(short[0], messages[0]);
    assert_eq!(short[1].plain_text(), "[left out]");
}

/// Images are removed only if shortening texts does not make enough room.
#[test]
fn media_stay_where_shorter_texts_are_enough() {
    let form = r#"{"role":"user","parts":[{"type":"image","source":{"url":"https://example.com/a.png"}}]}"#;
    let picture: Message = Json::from_text(form.to_owned()).unwrap().parse().unwrap();
    let picture = picture.parts.into_iter().next().unwrap();
    let messages =
        history([Message::new(Role::User, [picture.clone(), Part::text("word ".repeat(500))])]);
    let total = HistoryView::new(&messages, &Bytes).total();
    let view = HistoryView::new(&messages, &Bytes);
    let plan = TruncateHead::new().keep_tokens(&view, total - 1_500).into_plan().unwrap();
    assert_eq!(plan.description, "1 message shortened");
    assert_eq!(plan.apply(&messages).unwrap().messages[0].parts[0], picture);
}

/// Results first, then the user's texts as well, as long as a readable part of each remains; inputs
/// of calls only after that.
#[test]
fn texts_are_shortened_step_by_step() {
    let input = serde_json::json!({ "content": "x".repeat(600) });
    let messages = history([
        user("write it"),
        Message::new(Role::Assistant, [Part::tool_call("c1", "write", input)]),
        result("c1", &"log ".repeat(1_000)),
    ]);
    let short = left(&messages, |view| TruncateHead::new().keep_tokens(view, 1_200))
        .unwrap()
        .messages
        .to_vec();
    assert_eq!(short[..2], messages[..2]);

    let messages =
        history([user(&"ask ".repeat(250)), call("c1"), result("c1", &"log ".repeat(250))]);
    let short = left(&messages, |view| TruncateHead::new().keep_tokens(view, 1_010))
        .unwrap()
        .messages
        .to_vec();
    for message in [&short[0], &short[2]] {
        let text = message
            .tool_results()
            .next()
            .map_or_else(|| said(&message.parts), |result| said(&result.output));
        assert!((400..600).contains(&text.len()), "{} bytes", text.len());
    }
}

#[test]
fn an_input_is_shortened_once() {
    let input = serde_json::json!({ "content": "fn main() {} ".repeat(500) });
    let messages = history([
        user("write it"),
        Message::new(Role::Assistant, [Part::tool_call("c1", "write", input)]),
        result("c1", "written"),
    ]);
    let once = left(&messages, |view| TruncateHead::new().keep_tokens(view, 1_000))
        .unwrap()
        .messages
        .to_vec();
    let [Part::ToolCall(call)] = &once[1].parts[..] else { panic!("a call") };
    assert!(call.input.as_written().starts_with(r#"{"shortened":"#));
    let twice = left(&once, |view| TruncateHead::new().keep_tokens(view, 500));
    let again = twice.map_or_else(|| once.clone(), |left| left.messages.to_vec());
    assert_eq!(again[1], once[1], "what is left of it is a text already");
}

#[test]
fn media_of_results_give_way_to_notes_too() {
    let form = r#"{"role":"tool","parts":[{"type":"tool_result","call_id":"c1","output":[
        {"type":"image","source":{"url":"https://example.com/a.png"}},
        {"type":"document","source":{"url":"https://example.com/b.pdf"}},
        {"type":"audio","source":{"url":"https://example.com/c.wav"}}]}]}"#;
    let shown: Message = Json::from_text(form.to_owned()).unwrap().parse().unwrap();
    let messages = history([user("look"), call("c1"), shown]);
    let view = HistoryView::new(&messages, &Costly);
    let plan = TruncateHead::new().keep_tokens(&view, 100).into_plan().unwrap();
    let left = plan.apply(&messages).unwrap().messages.to_vec();
    let shown = said(&left[2].tool_results().next().unwrap().output);
    assert_eq!(shown, "[image left out]\n[document left out]\n[audio left out]");
}

/// Counts a token per byte of text, and many for media.
#[derive(Debug)]
struct Costly;

impl TokenCounter for Costly {
    fn name(&self) -> &str {
        "costly"
    }

    fn count(&self, text: &str) -> TokenCount {
        Bytes.count(text)
    }

    fn count_media(&self, _: MediaKind, _: &Media) -> TokenCount {
        TokenCount::exact(1_000)
    }
}

/// If not even notes fit, readable text is worth more than coming a little closer to the goal.
#[test]
fn a_goal_of_nothing_leaves_what_can_be_read() {
    let messages =
        history([user(&"who am I? ".repeat(50)), assistant(&"you are Ada. ".repeat(50))]);
    let view = HistoryView::new(&messages, &Quarter);
    let plan = TruncateHead::new().keep_tokens(&view, 0).into_plan().unwrap();
    for message in plan.apply(&messages).unwrap().messages {
        let text = message.plain_text().into_owned();
        assert!(
            text.contains("the middle was left out") && Quarter.count(&text).tokens() <= 32,
            "{text}"
        );
    }
}

/// Counts a token per four bytes.
#[derive(Debug)]
struct Quarter;

impl TokenCounter for Quarter {
    fn name(&self) -> &str {
        "quarter"
    }

    fn count(&self, text: &str) -> TokenCount {
        TokenCount::exact(text.len().div_ceil(4) as u64)
    }
}
