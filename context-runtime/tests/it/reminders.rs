//! Reminders: the stored messages are those the model was shown.

use context_runtime::instructions::{
    Predicate, Reminder, ReminderTarget, reminder, strip_reminders,
};
use context_runtime::{ContextEngine, Fragment, Message, Part, Role, Uuid7Ids, assistant, user};

use crate::kit::{builder, engine, say, shown, store, stored};

fn every_turn(text: &str) -> Reminder {
    reminder(text).build().unwrap()
}

fn tool_result(id: &str) -> Fragment {
    Fragment::from(Message::new(Role::Tool, [Part::tool_result("call", "rain")])).with_id(id)
}

fn call(id: &str) -> Fragment {
    let call = Part::tool_call("call", "weather", serde_json::json!({"city": "Oslo"}));
    assistant(Message::new(Role::Assistant, [call])).with_id(id)
}

async fn save(chat: &mut ContextEngine) {
    let _saved = chat.save().await.unwrap();
}

const CITED: &str = "<system-reminder>Cite.</system-reminder>";

#[tokio::test]
async fn a_turn_that_is_saved_first_is_shown_and_stored_with_its_reminder() {
    let store = store().await;
    let mut chat = engine(&store).await;
    chat.remind([every_turn("Cite.")]);
    let answer = chat.continue_turn(user("Why?").with_id("u1")).await.unwrap();
    assert_eq!(shown(&mut chat).await, [format!("u1: Why?{CITED}")]);
    chat.continue_turn(assistant("Because.").with_id(answer.clone())).await.unwrap();
    let all = [format!("u1: Why?{CITED}"), format!("{answer}: Because.")];
    assert_eq!(stored(&store, "main").await, all);
    assert_eq!(shown(&mut chat).await, all);
    let messages = chat.resolve().await.unwrap().messages;
    assert_eq!(strip_reminders(messages[0].message().unwrap()), Message::from("Why?"));
}

#[tokio::test]
async fn what_the_model_has_answered_is_not_changed_behind_its_back() {
    let store = store().await;
    let mut chat = engine(&store).await;
    chat.remind([every_turn("Cite.")]);
    chat.set([say("u1", "Why?")]);
    assert_eq!(shown(&mut chat).await, ["u1: Why?"]);
    chat.set([say("a1", "Because.")]);
    save(&mut chat).await;
    assert_eq!(stored(&store, "main").await, ["u1: Why?", "a1: Because."]);
}

#[tokio::test]
async fn between_two_steps_a_tool_result_and_a_message_of_its_own_can_remind() {
    let store = store().await;
    let mut chat = engine(&store).await;
    let after_tools = Predicate::any_tool_called();
    chat.remind([
        reminder("Check it.").target(ReminderTarget::ToolOutput).build().unwrap(),
        reminder("Go on.").target(ReminderTarget::Steer).when(after_tools).build().unwrap(),
    ]);
    chat.set([say("u1", "Rain?"), call("a1")]);
    save(&mut chat).await;
    chat.set([tool_result("t1")]);
    save(&mut chat).await;
    let chain = chat.resolve().await.unwrap().messages;
    let read: Vec<_> = chain.iter().map(|node| node.message().unwrap().readable_text()).collect();
    let reminded = "rain<system-reminder>Check it.</system-reminder>";
    assert_eq!(read, ["Rain?", "", reminded, "<system-reminder>Go on.</system-reminder>"]);
    assert_eq!(chat.turn_count().await.unwrap(), 1, "what reminds is no turn of the user");
}

/// A save whose success was not noticed is repeated while other reminders fire. It must not become
/// an edit.
#[tokio::test]
async fn a_message_sent_again_is_the_same_whatever_fires_this_time() {
    let store = store().await;
    for first in [true, false] {
        let mut chat = builder(&store).ids(Uuid7Ids).open().await.unwrap();
        if first {
            chat.remind([every_turn("Cite.")]);
        }
        chat.set([say("u1", "Why?")]);
        save(&mut chat).await;
    }
    assert_eq!(stored(&store, "main").await, [format!("u1: Why?{CITED}")]);
    let history = store.history();
    assert_eq!(history.branches(engine(&store).await.chat_ref()).await.unwrap().len(), 1);
}

#[tokio::test]
async fn once_is_once_for_the_chat_whichever_engine_asks() {
    let store = store().await;
    for turn in ["u1", "u2", "u3"] {
        let mut chat = engine(&store).await;
        chat.remind([reminder("Cite.").when(Predicate::once("cite")).build().unwrap()]);
        chat.set([say(turn, "Why?")]);
        save(&mut chat).await;
    }
    let expected = [format!("u1: Why?{CITED}"), "u2: Why?".into(), "u3: Why?".into()];
    assert_eq!(stored(&store, "main").await, expected);
}

#[tokio::test]
async fn counts_follow_the_branch_also_through_answers_and_back() {
    let store = store().await;
    let mut chat = engine(&store).await;
    chat.remind([reminder("Cite.").when(Predicate::every_n_turns(2)).build().unwrap()]);
    for turn in ["u1", "u2", "u3", "u4"] {
        let answer = chat.continue_turn(user("Why?").with_id(turn)).await.unwrap();
        chat.continue_turn(assistant("Because.").with_id(answer)).await.unwrap();
    }
    let reminded = |lines: &[String]| {
        lines.iter().filter(|line| line.contains(CITED)).cloned().collect::<Vec<_>>()
    };
    let cited = |id: &str| format!("{id}: Why?{CITED}");
    assert_eq!(reminded(&shown(&mut chat).await), [cited("u2"), cited("u4")]);
    let _moved = chat.rewind(&"u1".into()).await.unwrap();
    chat.set([say("u9", "Why?")]);
    save(&mut chat).await;
    assert_eq!(reminded(&shown(&mut chat).await), [cited("u9")]);
}

#[tokio::test]
async fn usage_is_the_chats() {
    let store = store().await;
    let mut chat = engine(&store).await;
    let much = Predicate::usage_exceeds(100);
    chat.remind([reminder("Cite.").when(much).build().unwrap()]);
    for (turn, tokens) in [("u1", 60), ("u2", 60), ("u3", 0)] {
        chat.set([say(turn, "Why?")]);
        save(&mut chat).await;
        chat.track_usage(serde_json::json!({"input_tokens": tokens, "output_tokens": 0}))
            .await
            .unwrap();
    }
    assert_eq!(
        shown(&mut chat).await,
        ["u1: Why?".to_owned(), "u2: Why?".into(), format!("u3: Why?{CITED}")]
    );
    chat.forget_reminders().set([say("u4", "Why?")]);
    save(&mut chat).await;
    assert_eq!(shown(&mut chat).await[3], "u4: Why?");
}
