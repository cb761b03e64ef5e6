//! The repairs of invalid histories, one test per fault.

use context_core::message::Origin;
use std::borrow::Cow;
use std::sync::Arc;

use context_codec_kit::normalize::{HistoryRules, Normalized, normalize};

use context_core::base::DiagnosticCode;
use context_core::message::Reasoning;
use context_core::model::Unanswered;
use context_core::{Json, Message, Metadata, Part, Role, ToolResult};

/// Formats a message as a word: `u` user, `s` system, `a` assistant, `t` tool, followed by its
/// parts.
fn shown(message: &Message) -> String {
    let part = |part: &Part| match part {
        Part::Text(text) => format!("{:?}", text.text),
        Part::ToolCall(call) => format!("call {}", call.id),
        Part::ToolResult(result) => {
            let text = match result.output.as_slice() {
                [Part::Text(text)] => text.text.as_str(),
                _ => "…",
            };
            let text = if text == Unanswered::TEXT { "MISSING" } else { text };
            format!("{} = {text}", result.call_id)
        }
        Part::Reasoning(thought) => format!("thinks {:?}", thought.text),
        _ => "other".to_owned(),
    };
    let role = &message.role.as_str()[..1];
    format!("{role}[{}]", message.parts.iter().map(part).collect::<Vec<_>>().join(", "))
}

fn list(messages: &[Arc<Message>]) -> String {
    messages.iter().map(|message| shown(message)).collect::<Vec<_>>().join(" ")
}

fn codes<'a>(normalized: &'a Normalized<'_>) -> Vec<&'a str> {
    normalized.diagnostics.iter().map(|diagnostic| diagnostic.code.as_str()).collect()
}

fn user(text: &str) -> Message {
    Message::from(text)
}

fn assistant(text: &str) -> Message {
    Message::text(Role::Assistant, text)
}

fn call(id: &str) -> Part {
    Part::tool_call(id, "look", context_codec_kit::wire::object([]))
}

fn calls<const N: usize>(ids: [&str; N]) -> Message {
    Message::new(Role::Assistant, ids.map(call))
}

fn result(id: &str, text: &str) -> Message {
    Message::new(Role::Tool, [Part::tool_result(id, text)])
}

fn failed(id: &str, text: &str) -> Message {
    let output = vec![Part::text(text)];
    let (call_id, metadata) = (id.to_owned(), Metadata::default());
    Message::new(
        Role::Tool,
        [Part::ToolResult(ToolResult { call_id, name: None, output, is_error: true, metadata })],
    )
}

fn thought(text: &str) -> Part {
    Part::Reasoning(Reasoning { text: text.into(), ..Reasoning::default() })
}

/// Checks the normalized history under the usual rules, and the diagnostics.
#[track_caller]
fn check<const N: usize>(history: [Message; N], expected: &str, expected_codes: &[&str]) {
    check_with(history, &HistoryRules::new(), Unanswered::Answer, expected, expected_codes);
}

#[track_caller]
fn check_with<const N: usize>(
    history: [Message; N],
    rules: &HistoryRules,
    unanswered: Unanswered,
    expected: &str,
    expected_codes: &[&str],
) {
    let history: Vec<_> = history.into_iter().map(Arc::new).collect();
    let before = history.clone();
    let normalized = normalize(&history, rules, unanswered, false);
    assert_eq!(list(&normalized.messages), expected);
    assert_eq!(codes(&normalized), expected_codes);
    assert_eq!(history, before);
    let again = normalize(&normalized.messages, rules, unanswered, false);
    assert!(matches!(again.messages, Cow::Borrowed(_)), "twice is once: {}", list(&again.messages));
    assert!(again.diagnostics.is_empty());
}

fn rules(change: impl FnOnce(&mut HistoryRules)) -> HistoryRules {
    let mut rules = HistoryRules::new();
    change(&mut rules);
    rules
}

#[test]
fn a_valid_history_stays_where_it_is() {
    let history = [
        Message::text(Role::System, "be brief"),
        user("q"),
        calls(["a", "b"]),
        result("b", "two"),
        result("a", "one"),
        assistant("done"),
        user("thanks"),
        assistant("welcome"),
    ]
    .map(Arc::new);
    let normalized = normalize(&history, &HistoryRules::new(), Unanswered::Answer, false);
    let Cow::Borrowed(messages) = normalized.messages else { panic!("it was copied") };
    assert!(std::ptr::eq(messages, &history[..]));
    assert!(normalized.diagnostics.is_empty());
}

#[test]
fn unanswered_calls_are_answered_right_behind_their_message() {
    check(
        [user("q"), calls(["a"])],
        "u[\"q\"] a[call a] t[a = MISSING]",
        &["tool_result_injected"],
    );
    check(
        [user("q"), calls(["a"]), user("stop"), assistant("ok")],
        "u[\"q\"] a[call a] t[a = MISSING] u[\"stop\"] a[\"ok\"]",
        &["tool_result_injected"],
    );
    // Existing results are kept, and the placeholder follows them.
    check(
        [user("q"), calls(["a", "b"]), result("a", "one"), assistant("done")],
        "u[\"q\"] a[call a, call b] t[a = one] t[b = MISSING] a[\"done\"]",
        &["tool_result_injected"],
    );
}

#[test]
fn a_placeholder_is_marked_and_an_error() {
    let history = [user("q"), calls(["a"])].map(Arc::new);
    let normalized = normalize(&history, &HistoryRules::new(), Unanswered::Answer, false);
    let Part::ToolResult(result) = &normalized.messages[2].parts[0] else { panic!("no result") };
    assert!(result.is_error);
    assert!(Origin::of(&result.metadata) == Origin::Synthetic);
    assert_eq!(result.name.as_deref(), Some("look"));
    assert_eq!(normalized.diagnostics[0].path, "messages[1].parts[0]");
    assert_eq!([0, 1, 2].map(|index| normalized.origin(index)), [0, 1, 1]);
}

#[test]
fn a_cut_takes_unanswered_calls_away() {
    check_with(
        [
            user("q"),
            Message::new(Role::Assistant, [Part::text("so"), call("a"), call("b")]),
            result("a", "1"),
        ],
        &HistoryRules::new(),
        Unanswered::Remove,
        "u[\"q\"] a[\"so\", call a] t[a = 1]",
        &["tool_call_removed"],
    );
    check_with(
        [user("q"), Message::new(Role::Assistant, [thought("hm"), call("a")]), user("and?")],
        &HistoryRules::new(),
        Unanswered::Remove,
        "u[\"q\"] u[\"and?\"]",
        &["tool_call_removed", "empty_removed"],
    );
}

#[test]
fn results_without_calls_are_left_out() {
    check(
        [user("q"), result("x", "?"), assistant("a")],
        "u[\"q\"] a[\"a\"]",
        &["tool_result_orphaned"],
    );
    let mixed = Message::new(Role::User, [Part::tool_result("x", "?"), Part::text("and?")]);
    check([user("q"), mixed], "u[\"q\"] u[\"and?\"]", &["tool_result_orphaned"]);
    // A result before its call does not answer it.
    check(
        [result("a", "early"), user("q"), calls(["a"])],
        "u[\"q\"] a[call a] t[a = MISSING]",
        &["tool_result_orphaned", "tool_result_injected"],
    );
}

#[test]
fn results_that_stand_apart_are_moved() {
    check(
        [user("q"), calls(["a"]), user("wait"), assistant("sure"), result("a", "real")],
        "u[\"q\"] a[call a] t[a = real] u[\"wait\"] a[\"sure\"]",
        &["tool_result_moved"],
    );
    // Calls in two messages that are answered together, as some transcripts record parallel calls.
    check(
        [user("q"), calls(["a"]), calls(["b"]), result("a", "1"), result("b", "2")],
        "u[\"q\"] a[call a] t[a = 1] a[call b] t[b = 2]",
        &["tool_result_moved", "tool_result_moved"],
    );
    // The user's text in the same message comes after all results of the turn.
    let mixed = Message::new(Role::User, [Part::text("first"), Part::tool_result("a", "1")]);
    check(
        [user("q"), calls(["a"]), mixed],
        "u[\"q\"] a[call a] t[a = 1] u[\"first\"]",
        &["tool_result_moved"],
    );
    let early = Message::new(Role::User, [Part::tool_result("a", "1"), Part::text("hm")]);
    check(
        [user("q"), calls(["a", "b"]), early, result("b", "2")],
        "u[\"q\"] a[call a, call b] t[a = 1, b = 2] u[\"hm\"]",
        &["tool_result_moved", "tool_result_moved"],
    );
}

#[test]
fn one_call_has_one_result() {
    check(
        [user("q"), calls(["a"]), result("a", "1"), result("a", "2")],
        "u[\"q\"] a[call a] t[a = 1]",
        &["tool_result_orphaned"],
    );
    check(
        [user("q"), calls(["a"]), failed("a", "timeout"), result("a", "2")],
        "u[\"q\"] a[call a] t[a = 2]",
        &["tool_result_moved", "tool_result_orphaned"],
    );
}

#[test]
fn ids_that_repeat_are_paired_by_position_and_told_apart() {
    check(
        [
            user("q"),
            calls(["d", "d", ""]),
            Message::new(
                Role::Tool,
                [Part::tool_result("d", "one"), Part::tool_result("d", "two")],
            ),
            result("zz", "?"),
        ],
        "u[\"q\"] a[call d, call d_2, call call_1_2] t[d = one, d_2 = two] t[call_1_2 = MISSING]",
        &["tool_call_renamed", "tool_call_renamed", "tool_result_injected", "tool_result_orphaned"],
    );
    // Some servers number the calls of each turn from zero.
    check(
        [user("q"), calls(["c0"]), result("c0", "1"), user("r"), calls(["c0"]), result("c0", "2")],
        "u[\"q\"] a[call c0] t[c0 = 1] u[\"r\"] a[call c0_2] t[c0_2 = 2]",
        &["tool_call_renamed"],
    );
    // The first call was interrupted, so the result belongs to the second.
    check(
        [user("q"), calls(["c0"]), user("r"), calls(["c0"]), result("c0", "2")],
        "u[\"q\"] a[call c0] t[c0 = MISSING] u[\"r\"] a[call c0_2] t[c0_2 = 2]",
        &["tool_result_injected", "tool_call_renamed"],
    );
}

#[test]
fn ids_and_names_are_made_legal_and_stay_apart() {
    let rules = rules(|rules| {
        rules.any_id = false;
        rules.max_id_len = 24;
        rules.max_name_len = 16;
    });
    let long = "x".repeat(40);
    let longer = "x".repeat(41);
    let history = [user("q"), calls(["t:1/x", "t_1_x", &long, &longer])].map(Arc::new);
    let normalized = normalize(&history, &rules, Unanswered::Answer, false);
    let ids: Vec<_> = normalized.messages[1]
        .parts
        .iter()
        .map(|part| match part {
            Part::ToolCall(call) => call.id.clone(),
            _ => String::new(),
        })
        .collect();
    assert_eq!(ids[..2], ["t_1_x", "t_1_x_2"]);
    assert!(ids[2..].iter().all(|id| id.len() == 24 && id.starts_with("xxxxxxxxxxx_")), "{ids:?}");
    assert_ne!(ids[2], ids[3]);

    let odd = Part::tool_call("a", "functions.look up!", context_codec_kit::wire::object([]));
    let history = [user("q"), Message::new(Role::Assistant, [odd])].map(Arc::new);
    let normalized = normalize(&history, &rules, Unanswered::Answer, false);
    let Part::ToolCall(call) = &normalized.messages[1].parts[0] else { panic!("no call") };
    assert_eq!(call.name.len(), 16);
    assert!(call.name.starts_with("fun_"), "{}", call.name);
    let again = normalize(&normalized.messages, &rules, Unanswered::Answer, false);
    assert!(matches!(again.messages, Cow::Borrowed(_)));
}

#[test]
fn what_is_empty_goes() {
    check(
        [
            user("q"),
            Message::new(Role::Assistant, [Part::text(" \n"), Part::text("a")]),
            user("  "),
            Message::new(Role::User, []),
        ],
        "u[\"q\"] a[\"a\"]",
        &["empty_removed", "empty_removed", "empty_removed"],
    );
    check(
        [user("q"), Message::new(Role::Assistant, [thought("hm")]), user("and?")],
        "u[\"q\"] u[\"and?\"]",
        &["empty_removed"],
    );
    // Reasoning whose text is in a separate message is kept.
    check(
        [user("q"), Message::new(Role::Assistant, [thought("hm")]), assistant("a")],
        "u[\"q\"] a[thinks \"hm\"] a[\"a\"]",
        &[],
    );
    check([], "", &[]);
}

#[test]
fn what_a_provider_cannot_carry_does_not_make_a_message() {
    fn carries(_: Role, part: &Part) -> bool {
        matches!(part, Part::Text(_) | Part::ToolCall(_) | Part::ToolResult(_))
    }
    let rules = rules(|rules| rules.carries = carries);
    let opaque = || {
        let value = context_codec_kit::wire::object([]);
        Part::Opaque(context_core::message::OpaqueBlock { provider: "elsewhere".into(), value })
    };
    check_with(
        [
            Message::new(Role::User, [opaque()]),
            user("q"),
            Message::new(Role::Assistant, [opaque(), Part::text("a")]),
        ],
        &rules,
        Unanswered::Answer,
        "u[\"q\"] a[other, \"a\"]",
        &["unrepresentable"],
    );
}

#[test]
fn the_user_speaks_first_and_the_assistant_last_only_where_it_may() {
    let opening = HistoryRules::OPENING;
    check(
        [assistant("hi"), user("q")],
        &format!("u[{opening:?}] a[\"hi\"] u[\"q\"]"),
        &["roles_adjusted"],
    );
    let strict = rules(|rules| rules.assistant_last = false);
    check_with(
        [user("q"), assistant("a")],
        &strict,
        Unanswered::Answer,
        &format!("u[\"q\"] a[\"a\"] u[{:?}]", HistoryRules::CONTINUATION),
        &["roles_adjusted"],
    );
    let history = [user("q"), assistant("{")].map(Arc::new);
    let prefilled = normalize(&history, &strict, Unanswered::Answer, true);
    assert!(matches!(prefilled.messages, Cow::Borrowed(_)));
}

#[test]
fn a_system_that_may_only_speak_first_is_quoted_later() {
    let rules = rules(|rules| rules.system_anywhere = false);
    let system = |text: &str| Message::text(Role::System, text);
    check_with(
        [system("a"), system("b"), user("q"), calls(["c"]), system("now German"), result("c", "1")],
        &rules,
        Unanswered::Answer,
        "s[\"a\"] s[\"b\"] u[\"q\"] a[call c] t[c = 1] u[\"<system>\\nnow German\\n</system>\"]",
        &["tool_result_moved", "roles_adjusted"],
    );
}

#[test]
fn roles_are_joined_where_they_must_alternate() {
    let rules = rules(|rules| rules.alternate = true);
    check_with(
        [
            user("q"),
            user("r"),
            calls(["a", "b"]),
            result("a", "1"),
            result("b", "2"),
            user("s"),
            assistant("x"),
            assistant("y"),
        ],
        &rules,
        Unanswered::Answer,
        "u[\"q\", \"r\"] a[call a, call b] u[a = 1, b = 2, \"s\"] a[\"x\", \"y\"]",
        &["roles_adjusted"; 4],
    );
}

#[test]
fn the_beginning_does_not_depend_on_what_follows() {
    let whole = [
        assistant("hi"),
        calls(["d"]),
        result("d", "1"),
        user(" "),
        calls(["d", ""]),
        user("stop"),
        result("d", "2"),
        calls(["d_2"]),
        result("d_2", "3"),
        assistant("end"),
    ]
    .map(Arc::new);
    let all = normalize(&whole, &HistoryRules::new(), Unanswered::Answer, false);
    for complete in [3, 8, 10] {
        let part = normalize(&whole[..complete], &HistoryRules::new(), Unanswered::Answer, false);
        let same =
            part.messages.iter().zip(all.messages.iter()).take_while(|(a, b)| a == b).count();
        // The last message of a part may still wait for its results.
        assert!(
            same + 1 >= part.messages.len(),
            "{} | {}",
            list(&part.messages),
            list(&all.messages)
        );
    }
    assert!(
        all.diagnostics.iter().any(|diagnostic| diagnostic.code == DiagnosticCode::ToolResultMoved)
    );
}

/// A block with a text that stands for it is chosen by the rules of one provider, and is nothing
/// to report.
#[test]
fn of_a_block_and_its_text_one_is_sent() {
    use context_core::message::{OpaqueBlock, Text};
    fn carries(_: Role, part: &Part) -> bool {
        !matches!(part, Part::Opaque(block) if block.provider != "ours")
    }
    let checkpoint = |provider: &str| {
        let value = Json::from_text("{}").unwrap();
        let block = Part::Opaque(OpaqueBlock { provider: provider.to_owned(), value });
        Message::new(Role::User, [block, Part::Text(Text::for_block("so far", None))])
    };
    let mut rules = HistoryRules::new();
    (rules.chooses_blocks, rules.carries) = (true, carries);
    let sent = |messages: &[Message], rules: &HistoryRules| {
        let history: Vec<_> = messages.iter().cloned().map(Arc::new).collect();
        let normal = normalize(&history, rules, Unanswered::Answer, false);
        assert_eq!(normal.diagnostics, []);
        let is_block = |part: &Part| matches!(part, Part::Opaque(_));
        let parts = normal.messages.iter().flat_map(|message| &message.parts);
        parts.map(is_block).collect::<Vec<_>>()
    };
    assert_eq!(sent(&[checkpoint("ours")], &rules), [true]);
    assert_eq!(
        sent(&[Message::text(Role::System, "s"), checkpoint("ours")], &rules),
        [false, true]
    );
    assert_eq!(sent(&[checkpoint("theirs")], &rules), [false]);
    assert_eq!(sent(&[Message::from("q"), checkpoint("ours")], &rules), [false, false]);
    assert_eq!(sent(&[checkpoint("ours")], &HistoryRules::new()), [true, false], "both are kept");
}
