//! The length of shortened results.

use std::sync::atomic::{AtomicUsize, Ordering};

use context_core::base::BlobId;
use context_core::history::HistoryView;
use context_core::model::{TokenCount, TokenCounter};
use context_core::{CompactionPolicy, Json, Message, Part, Role};
use context_policy_microcompact::Microcompact;
use context_tokens::ModelCounter;

use crate::helpers::{
    changed, counter, goal, history, is_nothing, left, long, plan, result, results, step, steps,
    text, tokens,
};

#[test]
fn a_short_result_shows_its_ends_and_says_what_it_was() {
    let messages = steps(6, "read_file");
    let left = left(&Microcompact::new().bound(40), &messages);
    let first = text(results(&left)[0]);
    let (note, shown) = first.split_once('\n').unwrap();
    assert!(
        note.starts_with("[Result shortened: 2,00") && note.ends_with(" bytes are shown]"),
        "{note}"
    );
    let (head, tail) = shown.split_once("\n[…]\n").unwrap();
    assert!(head.starts_with("alpha beta") && tail.ends_with("delta. "));
    let share = head.len() * 100 / (head.len() + tail.len());
    assert!((68..=72).contains(&share), "{share} percent are the beginning");
    assert!(
        note.contains(&format!("the first {} and the last {} bytes", head.len(), tail.len())),
        "{note}"
    );
}

#[test]
fn shortened_results_have_at_most_the_bound_and_a_little() {
    let texts = [
        long(),
        "x".repeat(30_000),
        "漢字".repeat(4_000),
        format!("{}{}", "a ".repeat(9_000), "é🦀".repeat(3_000)),
    ];
    let steps = texts
        .iter()
        .enumerate()
        .flat_map(|(n, text)| step(&format!("c{n}"), "bash", vec![Part::text(text)]));
    let messages = history(steps.chain(step("last", "bash", Vec::new())));
    for bound in [0, 1, 16, 128, 256, 768] {
        let left = left(&Microcompact::new().bound(bound).keep_results(1), &messages);
        for result in &results(&left)[..4] {
            let tokens = tokens(result);
            assert!(tokens <= bound + 32, "{tokens} tokens of {bound}");
            assert!(
                bound < 128 || tokens > bound * 8 / 10,
                "{tokens} tokens of {bound}: more could be shown"
            );
            assert!(text(result).starts_with("[Result shortened: "));
        }
    }
}

/// A second result makes the policy measure this one.
#[test]
fn a_result_of_just_the_bound_and_what_a_note_takes_stays() {
    let of = |tokens: u64| {
        let text = format!("x{}", " x".repeat(tokens as usize - 1));
        assert_eq!(counter().count(&text).tokens(), tokens);
        let parts =
            [("c0", text.as_str()), ("c1", "brief")].map(|(id, text)| Part::tool_result(id, text));
        let calls = ["c0", "c1"].map(|id| Part::tool_call(id, "bash", serde_json::json!({})));
        history([
            Message::new(Role::Assistant, calls),
            Message::new(Role::Tool, parts),
            Message::text(Role::Assistant, "Done."),
        ])
    };
    let policy = Microcompact::new().keep_results(0);
    assert!(is_nothing(&policy, &of(800)) && !is_nothing(&policy, &of(801)));
}

/// Counts with the published vocabulary, and records how often a preview is counted.
#[derive(Debug)]
struct CountingCounter(ModelCounter, AtomicUsize);

impl TokenCounter for CountingCounter {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn count(&self, text: &str) -> TokenCount {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.count(text)
    }

    fn count_message(&self, message: &Message) -> TokenCount {
        self.0.count_message(message)
    }
}

/// The first attempt is good enough if a text is as dense at its ends as in its middle. Otherwise
/// the second attempt knows the density of the ends.
#[test]
fn a_preview_is_found_in_few_tries() {
    let tries = |text: String| {
        let [first, second] = [("c0", vec![Part::text(text)]), ("c1", Vec::new())];
        let messages =
            history([first, second].into_iter().flat_map(|(id, output)| step(id, "bash", output)));
        let asked = CountingCounter(counter(), AtomicUsize::new(0));
        let plan = Microcompact::new()
            .keep_results(1)
            .plan(&HistoryView::new(&messages, &asked), &goal(1_000));
        let left = plan.into_plan().unwrap().apply(&messages).unwrap().messages;
        let shown = tokens(results(&left)[0]);
        assert!((720..=800).contains(&shown), "{shown} tokens are shown");
        asked.1.load(Ordering::Relaxed)
    };
    let [plain, dense] = ["alpha beta gamma delta. ".repeat(1_000), "é🦀".repeat(10_000)];
    let plain_ends = tries(format!("{plain}{dense}{plain}"));
    let dense_ends = tries(format!("{dense}{plain}{dense}"));
    assert_eq!([tries(long()), plain_ends, dense_ends], [1, 2, 2]);
}

#[test]
fn each_result_of_a_message_is_measured_by_itself() {
    let results_of = |texts: [String; 2]| {
        let parts = texts.into_iter().enumerate();
        let parts = parts
            .map(|(n, text)| Part::ToolResult(result(&format!("c{n}"), vec![Part::text(text)])));
        Message::new(Role::Tool, parts)
    };
    let calls = ["c0", "c1"].map(|id| Part::tool_call(id, "bash", serde_json::json!({})));
    let messages = history([
        Message::new(Role::Assistant, calls),
        results_of(["alpha beta gamma delta. ".repeat(100), long()]),
        Message::text(Role::Assistant, "Done."),
    ]);
    let left = left(&Microcompact::new().keep_results(0), &messages);
    assert_eq!(changed(&messages, &left), ["c1"]);
    let note = text(results(&left)[1]);
    assert!(note.starts_with("[Result shortened: 2,001 tokens;"), "{note}");
}

#[test]
fn a_second_pass_does_nothing_and_a_smaller_bound_shortens_once() {
    let first = left(&Microcompact::new(), &steps(6, "grep"));
    assert!(
        is_nothing(&Microcompact::new(), &first)
            && is_nothing(&Microcompact::new().bound(2_000), &first)
    );
    let tight = Microcompact::new().bound(200);
    let second = left(&tight, &first);
    assert!(is_nothing(&tight, &second) && is_nothing(&Microcompact::new(), &second));
    let shown = text(results(&second)[0]);
    assert!(shown.starts_with("[Result shortened: 2,00"), "still what it once was: {shown}");
    assert_eq!(shown.matches("[Result shortened").count(), 1);
}

/// A message from another program has no metadata, so only the marker shows that it was shortened.
#[test]
fn a_marker_alone_is_enough() {
    let first = left(&Microcompact::new(), &steps(6, "grep"));
    let bare = first.iter().map(|message| {
        let mut message = message.as_ref().clone();
        for part in &mut message.parts {
            if let Part::ToolResult(result) = part {
                result.metadata.remove("shortened");
            }
        }
        message
    });
    assert!(is_nothing(&Microcompact::new(), &history(bare)));
}

#[test]
fn ids_names_and_errors_survive() {
    let mut failed = result("c", vec![Part::text(long())]);
    failed.is_error = true;
    failed.name = Some("bash".into());
    failed.metadata.insert("mine", Json::from(1));
    let [call, _] = step("c", "bash", Vec::new());
    let failed = Message::new(Role::Tool, [Part::ToolResult(failed)]);
    let rest = (0..4).flat_map(|n| step(&format!("d{n}"), "bash", vec![Part::text("x")]));
    let left = left(&Microcompact::new(), &history([call, failed].into_iter().chain(rest)));
    let short = results(&left)[0];
    assert!(short.is_error && short.call_id == "c" && short.name.as_deref() == Some("bash"));
    assert_eq!(short.metadata.get("mine"), Some(&Json::from(1)));
    assert_eq!(short.metadata.get("shortened").unwrap().as_str(), r#"{"tokens":2001,"bound":768}"#);
}

/// A spilled result can be read back as long as its address is known.
#[test]
fn a_spilled_result_keeps_the_line_that_says_where_all_of_it_is() {
    let blob = BlobId::of(b"all of it").to_reference();
    let line = format!("[90,000 bytes are kept as {blob}; read them with read_spilled]");
    let mut spilled = result("c", vec![Part::text(format!("{}\n{line}\n{}", long(), long()))]);
    spilled.metadata.insert("spilled", serde_json::json!({"blob": blob}));
    let [call, _] = step("c", "bash", Vec::new());
    let spilled = Message::new(Role::Tool, [Part::ToolResult(spilled)]);
    let rest = (0..4).flat_map(|n| step(&format!("d{n}"), "bash", vec![Part::text("x")]));
    let first = left(&Microcompact::new(), &history([call, spilled].into_iter().chain(rest)));
    let shown = text(results(&first)[0]);
    assert_eq!(shown.lines().nth(1), Some(line.as_str()));
    assert!(tokens(results(&first)[0]) <= 768 + 32);
    let second = left(&Microcompact::new().bound(150), &first);
    assert_eq!(text(results(&second)[0]).matches(&line).count(), 1);
    assert!(is_nothing(&Microcompact::new().bound(150), &second));
}

#[test]
fn a_plan_says_what_it_does() {
    let messages = steps(7, "bash");
    let plan = plan(&Microcompact::new(), &messages);
    assert_eq!((plan.policy, plan.description.as_str()), ("microcompact", "3 results shortened"));
    assert_eq!(changed(&messages, &plan.apply(&messages).unwrap().messages), ["c0", "c1", "c2"]);
}
