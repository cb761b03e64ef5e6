//! How short results become.

use context_core::{BlobId, Json, Part};
use context_policy_microcompact::Microcompact;

use crate::helpers::{
    changed, history, is_nothing, left, long, plan, result, results, step, steps, text, tokens,
};

#[test]
fn a_short_result_shows_its_ends_and_says_what_it_was() {
    let messages = steps(6, "read_file");
    let left = left(&Microcompact::new().bound(40), &messages);
    let first = text(results(&left)[0]);
    let (note, shown) = first.split_once('\n').unwrap();
    assert!(note.starts_with("[Result shortened: 2,00") && note.ends_with(" bytes are shown]"), "{note}");
    let (head, tail) = shown.split_once("\n[…]\n").unwrap();
    assert!(head.starts_with("alpha beta") && tail.ends_with("delta. "));
    let share = head.len() * 100 / (head.len() + tail.len());
    assert!((68..=72).contains(&share), "{share} percent are the beginning");
    assert!(note.contains(&format!("the first {} and the last {} bytes", head.len(), tail.len())), "{note}");
}

#[test]
fn shortened_results_have_at_most_the_bound_and_a_little() {
    let texts = [
        long(),
        "x".repeat(30_000),
        "漢字".repeat(4_000),
        format!("{}{}", "a ".repeat(9_000), "é🦀".repeat(3_000)),
    ];
    let steps =
        texts.iter().enumerate().flat_map(|(n, text)| step(&format!("c{n}"), "bash", vec![Part::text(text)]));
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

#[test]
fn a_second_pass_does_nothing_and_a_smaller_bound_shortens_once() {
    let first = left(&Microcompact::new(), &steps(6, "grep"));
    assert!(
        is_nothing(&Microcompact::new(), &first) && is_nothing(&Microcompact::new().bound(2_000), &first)
    );
    let tight = Microcompact::new().bound(200);
    let second = left(&tight, &first);
    assert!(is_nothing(&tight, &second) && is_nothing(&Microcompact::new(), &second));
    let shown = text(results(&second)[0]);
    assert!(shown.starts_with("[Result shortened: 2,00"), "still what it once was: {shown}");
    assert_eq!(shown.matches("[Result shortened").count(), 1);
}

/// A body that came from elsewhere has no metadata, and the marker is all there is.
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
    let failed = context_core::Message::new(context_core::Role::Tool, [Part::ToolResult(failed)]);
    let rest = (0..4).flat_map(|n| step(&format!("d{n}"), "bash", vec![Part::text("x")]));
    let left = left(&Microcompact::new(), &history([call, failed].into_iter().chain(rest)));
    let short = results(&left)[0];
    assert!(short.is_error && short.call_id == "c" && short.name.as_deref() == Some("bash"));
    assert_eq!(short.metadata.get("mine"), Some(&Json::from(1)));
    assert_eq!(short.metadata.get("shortened").unwrap().as_str(), r#"{"tokens":2001,"bound":768}"#);
}

/// What was spilled can be read back as long as somebody knows where it is.
#[test]
fn a_spilled_result_keeps_the_line_that_says_where_all_of_it_is() {
    let blob = BlobId::of(b"all of it").to_reference();
    let line = format!("[90,000 bytes are kept as {blob}; read them with read_spilled]");
    let mut spilled = result("c", vec![Part::text(format!("{}\n{line}\n{}", long(), long()))]);
    spilled.metadata.insert("spilled", serde_json::json!({"blob": blob}));
    let [call, _] = step("c", "bash", Vec::new());
    let spilled = context_core::Message::new(context_core::Role::Tool, [Part::ToolResult(spilled)]);
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
    assert_eq!((plan.policy, plan.what.as_str()), ("microcompact", "3 results shortened"));
    assert_eq!(changed(&messages, &plan.apply(&messages).unwrap().messages), ["c0", "c1", "c2"]);
}
