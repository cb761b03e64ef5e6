//! Clearing of old results.

use context_core::Part;
use context_policy_microcompact::Microcompact;

use crate::helpers::{changed, history, is_nothing, left, results, step, steps, text};

#[test]
fn all_but_the_newest_message_of_results_is_cleared() {
    assert!(is_nothing(&Microcompact::clearing(), &steps(1, "read_file")));
    let messages = steps(2, "read_file");
    let left = left(&Microcompact::clearing(), &messages);
    assert_eq!(changed(&messages, &left), ["c0"]);
    let note = "[Result cleared: 2,001 tokens; call the tool again if it is needed]";
    assert_eq!(text(results(&left)[0]), note);
    assert!(is_nothing(&Microcompact::clearing(), &left));
}

/// A history that passed through another program has no metadata: a note is still not cleared
/// again.
#[test]
fn a_note_is_known_by_its_words() {
    let policy = Microcompact::clearing().clear_above(10);
    let mut bare = left(&policy, &steps(2, "read_file"));
    for message in &mut bare {
        for part in &mut std::sync::Arc::make_mut(message).parts {
            if let Part::ToolResult(result) = part {
                result.metadata.remove("shortened");
            }
        }
    }
    assert!(is_nothing(&policy, &bare));
}

#[test]
fn only_what_can_be_asked_for_again_is_cleared() {
    assert!(is_nothing(&Microcompact::clearing(), &steps(3, "my_tool")));
}

#[test]
fn the_bound_is_one_of_utf_16() {
    let at = |text: String| {
        let steps = [step("c0", "bash", vec![Part::text(text)]), step("c1", "bash", Vec::new())];
        is_nothing(&Microcompact::clearing(), &history(steps.into_iter().flatten()))
    };
    assert!(at("x".repeat(1_536)) && !at("x".repeat(1_537)));
    assert!(at("漢".repeat(1_536)) && !at("漢".repeat(1_537)));
    assert!(at("🦀".repeat(768)) && !at("🦀".repeat(769)));
}

#[test]
fn the_bound_can_be_another_one() {
    let at = |units| {
        let text = vec![Part::text("word ".repeat(100))];
        let steps = [step("c0", "bash", text), step("c1", "bash", Vec::new())];
        is_nothing(
            &Microcompact::clearing().clear_above(units),
            &history(steps.into_iter().flatten()),
        )
    };
    assert!(at(500) && !at(499));
}
