//! Amounts that are covered, kept and shown: exact to the token where the goal determines it.

use std::sync::Arc;

use context_conformance::policy::QuarterCounter;
use context_core::history::{Goal, HistoryView, Proposal};
use context_core::message::Origin;
use context_core::model::{Budget, TokenCounter};
use context_core::{CompactionPolicy, Message};
use context_policy_summarize::{Summarize, SummaryCheckpoint};

use crate::fixture::{
    WHOLE, accept, assistant, between, call, goal, history, plan, result, says, shown, stand_in,
    steps, task, user,
};

/// Returns how many of the last messages stay.
fn stays(policy: &Summarize, messages: &[Arc<Message>], goal: &Goal) -> usize {
    messages.len() - task(policy, messages, goal).covers.end
}

/// Returns the number of tokens of these messages.
fn tokens(messages: &[std::sync::Arc<Message>]) -> u64 {
    QuarterCounter.count_messages(messages).tokens()
}

#[test]
fn the_goal_is_used_up_to_the_token() {
    let messages = history(steps("the task", 40, 4_000));
    let policy = Summarize::new().summary_tokens(500);
    // The summary, the request, and the last three steps.
    let fits = 500 + tokens(&messages[..1]) + tokens(&messages[messages.len() - 6..]);
    assert_eq!(stays(&policy, &messages, &goal(fits)), 6);
    assert_eq!(stays(&policy, &messages, &goal(fits - 1)), 4);
    assert_eq!(task(&policy, &messages, &goal(fits)).request.max_output_tokens, Some(500));
}

#[test]
fn the_window_is_used_up_to_the_token() {
    let messages = history(steps("the task", 40, 4_000));
    let policy = Summarize::new().window(8_000).keep_latest(20);
    // A goal of zero: the minimum size of a summary, the request, and the last three steps.
    let fits = 256 + tokens(&messages[..1]) + tokens(&messages[messages.len() - 6..]);
    let stays = |window| stays(&policy, &messages, &Goal::new(Budget::new(window, 0), 0, 0));
    assert_eq!((stays(fits), stays(fits - 1)), (6, 4));
}

#[test]
fn so_many_messages_stay_and_groups_are_whole() {
    let messages = history(steps("the task", 40, 4_000));
    for (least, stay) in [(3, 4), (4, 4), (5, 6)] {
        assert_eq!(
            stays(&Summarize::new().keep_latest(least), &messages, &goal(0)),
            stay,
            "{least}"
        );
    }
}

/// The new checkpoint replaces the old one.
#[test]
fn an_old_checkpoint_takes_no_room() {
    let old = user("so far. ".repeat(1_500)).with_origin(Origin::Checkpoint);
    let with: Vec<_> = [old].into_iter().chain(steps("the task", 40, 4_000)).collect();
    let policy = Summarize::new();
    let without = stays(&policy, &history(steps("the task", 40, 4_000)), &goal(10_000));
    assert_eq!(stays(&policy, &history(with), &goal(10_000)), without);
}

/// The first request may be shortened to the size of a summary; the newest one stays unchanged.
#[test]
fn requests_take_the_room_that_they_will_have() {
    let large = "data ".repeat(4_000);
    let policy = Summarize::new().summary_tokens(500);
    let first = history([user(&large)].into_iter().chain(steps("go on", 40, 4_000)));
    let fits = |request: u64| goal(500 + request + tokens(&first[first.len() - 6..]));
    let small = tokens(&first[1..2]);
    assert_eq!(stays(&policy, &first, &fits(500 + small)), 6);
    assert_eq!(stays(&policy, &first, &fits(500 + small - 1)), 4);
    let only =
        history([user(&large)].into_iter().chain(steps("go on", 40, 4_000).into_iter().skip(1)));
    assert_eq!(stays(&policy, &only, &fits(tokens(&only[..1]))), 6);
    assert_eq!(stays(&policy, &only, &fits(tokens(&only[..1]) - 1)), 4);
}

#[test]
fn a_first_request_of_just_the_size_of_a_summary_stays_whole() {
    let policy = Summarize::new().summary_tokens(500);
    let talk = |bytes: usize| {
        history([user("x".repeat(bytes))].into_iter().chain(steps("go on", 40, 4_000)))
    };
    let first = |bytes: usize| {
        let messages = talk(bytes);
        let task = task(&policy, &messages, &goal(4_000));
        accept(&policy, &messages, &task, &says(WHOLE)).unwrap().messages[1].plain_text().len()
    };
    let whole = 4 * (500 - tokens(&talk(0)[..1]) as usize);
    assert_eq!(first(whole), whole);
    assert!(first(whole + 1) < whole);
}

/// A request among the newest messages is counted once.
#[test]
fn the_newest_request_is_counted_once() {
    let mut talk = steps("the task", 40, 4_000);
    talk.extend([user("data ".repeat(2_000)), assistant("I look."), assistant("Still.")]);
    let messages = history(talk);
    let tail = &messages[messages.len() - 5..];
    let policy = Summarize::new().summary_tokens(500);
    let fits = 500 + tokens(&messages[..1]) + tokens(tail);
    assert_eq!(stays(&policy, &messages, &goal(fits)), 5);
    assert_eq!(stays(&policy, &messages, &goal(fits - 1)), 3);
}

/// A request after the covered part is not listed among the kept messages.
#[test]
fn what_stays_behind_the_covered_part_is_not_kept_of_it() {
    let mut talk = steps("the task", 40, 4_000);
    talk.extend(steps("go on", 2, 40));
    let task = task(&Summarize::new().keep_latest(5), &history(talk), &goal(0));
    assert_eq!((task.covers.end, task.keeps.as_slice()), (81, &[0][..]));
}

#[test]
fn what_is_hardly_larger_than_a_summary_is_left() {
    let talk = |bytes: usize| {
        let steps = [("c", bytes), ("d", 80_000)].map(|(id, bytes)| {
            [call(id, "read", serde_json::json!({})), result(id, "x".repeat(bytes))]
        });
        history([user("the task")].into_iter().chain(steps.into_iter().flatten()))
    };
    let around = tokens(&talk(0)[1..3]) as usize;
    let policy = Summarize::new().keep_latest(1);
    let covered = |tokens: usize| plan(&policy, &talk(4 * (tokens - around)), &goal(16_000));
    assert!(matches!(covered(1_000), Proposal::Nothing { .. }));
    assert!(matches!(covered(1_001), Proposal::Summary(_)));
}

#[test]
fn a_checkpoint_counts_what_it_stands_for_and_nothing_that_stays() {
    let mut talk = vec![Message::text(context_core::Role::System, "You mend programs.")];
    talk.extend(steps("the task", 40, 4_000));
    let messages = history(talk);
    let policy = Summarize::new();
    let task = task(&policy, &messages, &goal(10_000));
    let view = HistoryView::new(&messages, &QuarterCounter);
    let plan = policy.accept(&view, &task, &says(WHOLE)).unwrap();
    let count = task.covers.len() as u64 - 2;
    assert_eq!(plan.description, format!("{count} messages into a checkpoint"));
    let checkpoint = SummaryCheckpoint::read(&plan.apply(&messages).unwrap().messages[1]).unwrap();
    assert_eq!(
        (checkpoint.messages, checkpoint.tokens),
        (count, view.tokens_of(2..task.covers.end))
    );
}

/// A summary that has grown too long is shortened inside, and no more than necessary.
#[test]
fn of_a_long_summary_so_far_as_much_as_fits_is_given() {
    let old =
        user(format!("first {} last", "word ".repeat(200_000))).with_origin(Origin::Checkpoint);
    let messages = history([old].into_iter().chain(steps("the task", 40, 4_000)));
    let task = task(&Summarize::new().window(8_000), &messages, &goal(4_000));
    let text = shown(&task);
    let so_far = between(&text, "<summary-so-far>\n", "\n</summary-so-far>").unwrap();
    assert!(so_far.starts_with("first word") && so_far.ends_with(" last"), "{so_far}");
    let (head, rest) = so_far.split_once("\n[… ").unwrap();
    let tail = rest.split_once("]\n").unwrap().1;
    assert!(
        (2.9..3.1).contains(&(head.len() as f64 / tail.len() as f64)),
        "{} and {}",
        head.len(),
        tail.len()
    );
    let given = QuarterCounter.count(so_far).tokens();
    assert!((2_500..=4_000).contains(&given), "{given} tokens");
    let all = QuarterCounter.count_request(&task.request).total().tokens();
    assert!((6_000..=8_000).contains(&all), "{all} tokens in all");
}

/// Each run shows what it covers: nothing twice, nothing left out.
#[test]
fn runs_show_what_they_cover() {
    let policy = Summarize::new().window(6_000);
    let system = Message::text(context_core::Role::System, "You mend programs.");
    let mut messages = history([system].into_iter().chain(steps("the task", 200, 4_000)));
    let mut next = 0;
    while let Proposal::Summary(task) = plan(&policy, &messages, &goal(20_000)) {
        let text = shown(&task);
        let parts = text.matches("<call ").count();
        let is_shown = |part: usize| text.contains(&format!("src/part{part}.rs\""));
        assert!((next..next + parts).all(is_shown) && !is_shown(next + parts), "from {next} on");
        assert!(next == 0 || !is_shown(next - 1));
        let covered = messages[task.covers.clone()]
            .iter()
            .filter(|message| message.tool_calls().next().is_some());
        assert_eq!(covered.count(), parts);
        next += parts;
        messages = accept(&policy, &messages, &task, &stand_in(&task)).unwrap().messages.to_vec();
    }
    assert!(next > 100, "{next} steps");
}
