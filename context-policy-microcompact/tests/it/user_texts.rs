//! Long texts of the user.

use context_core::history::{HistoryView, ToolNames};
use context_core::model::TokenCounter;
use context_core::{CompactionPolicy, Message, Part, Role};
use context_policy_microcompact::{Microcompact, Tools};

use crate::helpers::{counter, goal, history, image, is_nothing, left, long, plan};

const BOUND: u64 = 200;

fn policy() -> Microcompact {
    Microcompact::new().tools(Tools::Only(ToolNames::default())).user_texts(BOUND)
}

/// A log that was pasted with a question: the newest request.
fn pasted() -> Message {
    Message::from(format!("Why does this fail?\n{}\nAnswer briefly.", long()))
}

#[test]
fn by_default_texts_of_the_user_stay() {
    assert!(is_nothing(&Microcompact::new(), &history([pasted()])));
}

#[test]
fn a_long_text_keeps_its_beginning_and_its_end_also_in_the_newest_request() {
    let messages = history([Message::from("Hello."), pasted()]);
    assert_eq!(plan(&policy(), &messages).description, "1 user text shortened");
    let left = left(&policy(), &messages);
    assert_eq!(left[0], messages[0]);
    let shown = left[1].plain_text();
    assert!(shown.starts_with("[Text shortened: 2,0"), "{shown}");
    assert!(shown.contains("read_messages shows it"), "{shown}");
    assert!(shown.contains("Why does this fail?") && shown.ends_with("Answer briefly."), "{shown}");
    assert!(counter().count(&shown).tokens() <= BOUND + 32, "{shown}");
}

#[test]
fn the_form_of_a_text_does_not_change_as_the_conversation_grows() {
    let mut messages = history([pasted()]);
    let first = left(&policy(), &messages);
    assert!(is_nothing(&policy(), &first), "once is enough");
    messages.extend(history([Message::text(Role::Assistant, "So."), Message::from("And now?")]));
    assert_eq!(left(&policy(), &messages)[0], first[0]);
    // A smaller bound shortens what is left, and remembers the first size.
    let smaller = left(&policy().user_texts(120), &first);
    let shown = smaller[0].plain_text();
    assert!(shown.starts_with("[Text shortened: 2,0") && shown.ends_with("briefly."), "{shown}");
    assert_eq!(shown.matches("[Text shortened").count(), 1, "{shown}");
}

#[test]
fn only_words_of_the_user_are_shortened_and_the_rest_of_the_message_stays() {
    let attached = Message::new(Role::User, [Part::text(long()), image(), Part::text("And?")]);
    let messages = history([
        Message::from(long()).pinned(),
        Message::from(long()).with_origin(context_core::message::Origin::Synthetic),
        Message::text(Role::Assistant, long()),
        attached,
    ]);
    let left = left(&policy(), &messages);
    assert_eq!(left[..3], messages[..3]);
    assert_eq!(left[3].parts[1..], messages[3].parts[1..]);
    assert_ne!(left[3].parts[0], messages[3].parts[0]);
}

#[test]
fn requests_within_the_budget_of_the_users_words_stay_whole() {
    let messages = history([pasted(), Message::text(Role::Assistant, "So."), Message::from("?")]);
    let counter = counter();
    let view = HistoryView::new(&messages, &counter).user_words(10_000);
    assert!(policy().plan(&view, &goal(1_000)).into_plan().is_none());
}

/// A user begins with more than the budget of their words has room for, and writes a request that
/// fits in. The beginning fits too once it is shorter, and would take the place of that request.
#[test]
fn a_shortened_request_does_not_push_another_one_out_of_the_budget() {
    let brief = "Keep the tone of the last report, and name its sources. ".repeat(18);
    assert!((BOUND + 32..250).contains(&counter().count(&brief).tokens()));
    let pictures = Message::new(Role::User, vec![image(); 8]);
    for (first, policy) in [(pasted(), policy()), (pictures, policy().clear_attached())] {
        let answer = || Message::text(Role::Assistant, "So.");
        let messages = history([first, answer(), brief.as_str().into(), answer(), "?".into()]);
        let counter = counter();
        let view = |messages| HistoryView::new(messages, &counter).user_words(260);
        let plan = policy.plan(&view(&messages), &goal(100)).into_plan().unwrap();
        let shorter = plan.apply(&messages).unwrap().messages;
        assert_eq!(shorter[2], messages[2]);
        let again = view(&shorter);
        assert!(again.anchors().is_verbatim(0) && !again.anchors().is_verbatim(2));
        assert!(policy.plan(&again, &goal(100)).into_plan().is_none());
    }
}
