//! Tests of the messages that are retained.

use context_core::history::HistoryView;
use context_core::message::Origin;
use context_core::{Message, Part, Role};
use context_policy_truncate_head::{Measure, TruncateHead, newest, truncate_head};

use crate::{Bytes, assistant, call, history, left, origins, result, user};

fn quiet() -> TruncateHead {
    TruncateHead::new().gaps(false)
}

#[test]
fn the_newest_of_a_number_are_a_share_of_it_rounded_down_and_at_least_one() {
    let ten = history((0..10).map(|n| user(&format!("m{n}"))));
    for (ratio, count) in
        [(0.5, 5), (0.25, 2), (2.0, 10), (0.0, 1), (f64::NAN, 1), (-1.0, 1), (1.0, 10)]
    {
        assert_eq!(newest(&ten, ratio), &ten[10 - count..], "{ratio}");
    }
    assert_eq!(newest(&ten[..3], 0.25), &ten[2..3]);
    assert!(newest(&[], 0.5).is_empty());
}

#[test]
fn nothing_of_nothing_is_left_out() {
    assert_eq!(origins(&history([]), |view| truncate_head(view, 0.5)), None);
    assert_eq!(origins(&history([user("only this")]), |view| truncate_head(view, 1.0)), None);
}

/// A user describes the task, and later says only "continue": both messages have to stay, or the
/// task is lost.
#[test]
fn the_first_request_and_the_newest_survive() {
    let long = "x".repeat(100);
    let messages = history([
        user("port the parser"),
        assistant(&long),
        user("looks good"),
        assistant(&long),
        user("continue"),
        assistant(&long),
    ]);
    let left = origins(&messages, |view| quiet().keep(view, 0.5));
    assert_eq!(left, Some(vec![Some(0), Some(4), Some(5)]));
}

#[test]
fn a_cut_within_a_tool_loop_keeps_the_request_that_began_it() {
    let messages = history([
        user("set up"),
        assistant("done"),
        user("fix the bug"),
        call("c1"),
        result("c1", &"a".repeat(200)),
        call("c2"),
        result("c2", &"b".repeat(40)),
        assistant("done?"),
        user("and now?"),
        assistant("now what"),
    ]);
    let left = origins(&messages, |view| quiet().keep(view, 0.5));
    assert_eq!(left, Some([0, 2, 5, 6, 7, 8, 9].map(Some).to_vec()));
}

#[test]
fn a_call_and_its_result_stay_or_go_together_also_where_somebody_speaks_in_between() {
    let messages = history([
        user("go"),
        assistant(&"x".repeat(100)),
        call("c1"),
        user("are you there?"),
        result("c1", "yes"),
        assistant("I am"),
    ]);
    for tokens in 0..100 {
        let left = left(&messages, |view| quiet().keep_tokens(view, tokens)).unwrap();
        assert_eq!(left.origins.contains(&Some(2)), left.origins.contains(&Some(4)), "{tokens}");
    }
}

#[test]
fn a_checkpoint_stays_in_front_and_is_not_counted_as_a_message() {
    let checkpoint = user("so far").with_origin(Origin::Checkpoint);
    let turns =
        (0..5).flat_map(|n| [user(&format!("question {n}")), assistant(&format!("answer {n}"))]);
    let messages = history(std::iter::once(checkpoint).chain(turns));
    let by_messages = quiet().measure(Measure::Messages);
    let kept = origins(&messages, |view| by_messages.keep(view, 0.5));
    assert_eq!(kept, Some([0, 1, 5, 6, 7, 8, 9, 10].map(Some).to_vec()));
    let kept = left(&messages, |view| quiet().keep(view, 0.4)).unwrap();
    assert!(kept.messages[0].is_checkpoint());
}

#[test]
fn system_messages_in_front_stay() {
    let messages = history([
        Message::text(Role::System, "be kind"),
        user("one"),
        assistant(&"x".repeat(90)),
        user("two"),
    ]);
    assert_eq!(
        origins(&messages, |view| quiet().keep(view, 0.5)),
        Some([0, 1, 3].map(Some).to_vec())
    );
}

#[test]
fn what_was_left_out_is_said_and_added_up() {
    let turns = (0..40).flat_map(|n| {
        [
            user(&format!("question {n}, at some length")),
            assistant(&format!("answer {n}, at some length")),
        ]
    });
    let messages = history(turns);
    let once = left(&messages, |view| truncate_head(view, 0.5)).unwrap().messages.to_vec();
    let gap = |messages: &[std::sync::Arc<Message>]| messages[1].plain_text().into_owned();
    assert!(once[1].is_synthetic() && once[1].is_gap());
    let gone = messages.len() - (once.len() - 1);
    assert_eq!(gap(&once), format!("[{gone} earlier messages were left out here]"));
    let twice = left(&once, |view| truncate_head(view, 0.5)).unwrap().messages.to_vec();
    let gone = messages.len() - (twice.len() - 1);
    assert_eq!(gap(&twice), format!("[{gone} earlier messages were left out here]"));
}

/// The report does not count unchanged messages as shortened, and the note counts against the goal.
#[test]
fn a_note_counts_against_the_goal_and_what_was_done_is_said() {
    let turns = (0..40).flat_map(|n| [user(&format!("question {n}")), assistant(&"x".repeat(60))]);
    let messages = history(turns);
    let view = HistoryView::new(&messages, &Bytes);
    // Less than half, so that the cut removes more than a note takes.
    for tokens in 400..1_000 {
        let plan = TruncateHead::new().keep_tokens(&view, tokens).into_plan().unwrap();
        assert!(plan.after <= tokens, "{} of {tokens}", plan.after);
        let left = plan.apply(&messages).unwrap();
        let stayed = left.origins.iter().flatten().count();
        assert_eq!(left.messages.len(), stayed + 1, "one note");
        assert_eq!(plan.description, format!("{} messages left out", messages.len() - stayed));
    }
}

/// A request that always stays, or whose turn is kept already, is counted once.
#[test]
fn a_goal_that_fits_to_the_token_is_used_up() {
    let ten = "x".repeat(10);
    let messages = history([
        user(&ten),
        assistant(&"y".repeat(100)),
        assistant("five!"),
        user(&ten),
        assistant(&ten),
        user(&ten),
        assistant(&ten),
    ]);
    let left = origins(&messages, |view| quiet().keep_tokens(view, 55));
    assert_eq!(left, Some([0, 2, 3, 4, 5, 6].map(Some).to_vec()));
    let left = origins(&messages, |view| quiet().keep_tokens(view, 54));
    assert_eq!(left, Some([0, 3, 4, 5, 6].map(Some).to_vec()));
}

/// If a note would take an eighth of the room, there is none, and its room is used.
#[test]
fn without_room_for_notes_all_room_is_for_messages() {
    let ten = "x".repeat(10);
    let messages = history([
        user(&ten),
        assistant(&"y".repeat(100)),
        assistant("five!"),
        user(&ten),
        assistant(&ten),
    ]);
    for tokens in [35, 34, 20] {
        let with = left(&messages, |view| TruncateHead::new().keep_tokens(view, tokens)).unwrap();
        let without = left(&messages, |view| quiet().keep_tokens(view, tokens)).unwrap();
        assert_eq!(with, without, "{tokens}");
    }
}

#[test]
fn one_message_is_said_in_the_singular() {
    let messages =
        history([user("go"), assistant(&"x".repeat(2_000)), user("on"), assistant("done")]);
    let left = left(&messages, |view| TruncateHead::new().keep_tokens(view, 500)).unwrap();
    assert_eq!(left.messages[1].plain_text(), "[1 earlier message was left out here]");
}

/// Some agents send results and the user's text of the meantime as one message. If the call is
/// removed, the text stays.
#[test]
fn a_request_that_stays_loses_the_results_of_calls_that_go() {
    let meanwhile =
        Message::new(Role::User, [Part::tool_result("c1", "a.rs"), Part::text("and now?")]);
    let messages = history([
        user("start"),
        assistant(&"x".repeat(500)),
        call("c1"),
        meanwhile,
        call("c2"),
        result("c2", &"y".repeat(500)),
        call("c3"),
        result("c3", "ok"),
    ]);
    let left = left(&messages, |view| quiet().keep_tokens(view, 60)).unwrap();
    assert_eq!(left.origins, [0, 3, 6, 7].map(Some));
    assert_eq!(left.messages[1].parts, [Part::text("and now?")]);
}

/// A tool that the provider runs has call and result in one message.
#[test]
fn the_first_message_behind_a_gap_keeps_its_results() {
    let own =
        [Part::tool_call("c", "search", serde_json::json!({})), Part::tool_result("c", "found")];
    let messages =
        history([user("go"), assistant(&"x".repeat(500)), Message::new(Role::Assistant, own)]);
    let left = left(&messages, |view| quiet().keep_tokens(view, 100)).unwrap();
    assert_eq!(
        (left.origins.as_slice(), &left.messages[1]),
        (&[Some(0), Some(2)][..], &messages[2])
    );
}

#[test]
fn where_nobody_asked_anything_the_newest_stays() {
    let messages = history([assistant(&"x".repeat(100)), assistant(&"y".repeat(100))]);
    let left = left(&messages, |view| quiet().keep_tokens(view, 50)).unwrap();
    assert_eq!(left.origins, [Some(1)]);
    assert!(left.messages[0].plain_text().len() <= 50);
}

/// Short notes of the user stay between answers that go. One message says so for all of them, or
/// the notes about gaps would be as many as the answers were.
#[test]
fn between_the_users_words_there_is_one_gap() {
    let note = |day: usize| user(&format!("note {day}"));
    let messages =
        history((0..20).flat_map(|day| [note(day), assistant(&"it was a long walk. ".repeat(20))]));
    let view = HistoryView::new(&messages, &Bytes).user_words(1_000);
    let plan = truncate_head(&view, 0.3).into_plan().unwrap();
    let kept = plan.apply(&messages).unwrap().messages.to_vec();
    let gaps: Vec<_> = kept.iter().filter(|message| message.is_gap()).collect();
    assert_eq!(gaps.len(), 1, "{kept:?}");
    let answers = kept.iter().filter(|message| message.role == Role::Assistant).count();
    assert_eq!(
        gaps[0].plain_text(),
        format!("[{} earlier messages were left out here]", 20 - answers)
    );
    assert!((0..20).all(|day| kept.contains(&messages[day * 2])), "every note stays");
}
