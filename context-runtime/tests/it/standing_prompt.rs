//! A frozen system prompt: it stays as it was sent, changes are told behind it, and it is sent in
//! full again where that would not be enough.

use std::sync::Arc;

use context_runtime::compaction::HistoryRewrite;
use context_runtime::{
    ChangeKind, ContextEngine, ContextRuntime, Fragment, Message, Store, assistant, hint, lazy,
    role, user,
};

use crate::kit::store;
use crate::runtime_kit::{builder, codes};

const LONG: &str = "Prices are in EUR, with tax, per person. ";

async fn open(store: &Arc<dyn Store>) -> ContextEngine {
    let builder = ContextEngine::builder(Arc::clone(store)).user("ada").chat("c");
    builder.freeze_prompt(true).open().await.unwrap()
}

fn currency(name: &str) -> Fragment {
    hint(format!("Prices are in {name}.")).with_id("currency")
}

/// Sets the fragments that every process of the program sets.
fn standing(chat: &mut ContextEngine, prices: &str) {
    chat.set([role(LONG.repeat(40)), currency(prices)]);
}

/// A turn: the question is saved, then the request is made, then the answer is saved.
async fn turn(chat: &mut ContextEngine, question: &str) -> (String, Vec<String>) {
    chat.set([user(question)]);
    chat.save().await.unwrap();
    let shown = chat.resolve().await.unwrap();
    let messages = shown.messages.iter().filter_map(|node| node.message().ok());
    let messages = messages.map(|message| message.plain_text().into_owned()).collect();
    chat.set([assistant("Fine.")]);
    chat.save().await.unwrap();
    (String::from(shown.system_prompt), messages)
}

#[tokio::test]
async fn a_change_is_told_behind_the_history_and_the_prompt_stays() {
    let store = store().await;
    let mut chat = open(&store).await;
    standing(&mut chat, "EUR");
    let (first, _) = turn(&mut chat, "A train?").await;
    let (second, _) = turn(&mut chat, "Another?").await;
    assert_eq!(first, second);
    chat.set([currency("USD"), hint("Trains are late today.")]);
    let (third, messages) = turn(&mut chat, "And now?").await;
    assert_eq!(first, third, "the prompt stays as it was sent");
    insta::assert_snapshot!("prompt_update", messages.last().unwrap());
    // It is told once.
    let (fourth, messages) = turn(&mut chat, "Thanks.").await;
    assert_eq!((first, messages.last().unwrap().as_str()), (fourth, "Thanks."));
}

#[tokio::test]
async fn what_is_removed_is_told_too() {
    let store = store().await;
    let mut chat = open(&store).await;
    standing(&mut chat, "EUR");
    chat.set([hint("Trains are late today.").with_id("late")]);
    let (first, _) = turn(&mut chat, "A train?").await;
    chat.unset(&"late".into()).await.unwrap();
    let (second, messages) = turn(&mut chat, "And now?").await;
    assert_eq!(first, second);
    insta::assert_snapshot!("prompt_removal", messages.last().unwrap());
}

/// Each turn is a process of its own, and each of them sets the prompt anew.
#[tokio::test]
async fn another_process_goes_on_with_the_prompt() {
    let store = store().await;
    let mut prompts = Vec::new();
    for prices in ["EUR", "USD", "USD", "EUR"] {
        let mut chat = open(&store).await;
        standing(&mut chat, prices);
        prompts.push(turn(&mut chat, "A train?").await);
    }
    assert!(prompts.iter().all(|(prompt, _)| *prompt == prompts[0].0));
    let told: Vec<_> = prompts[3].1.iter().map(|text| text.contains("have changed")).collect();
    assert_eq!(told, [false, false, true, false, false, false, true]);
}

/// Programs that resolve before they save have no message that could tell the change.
#[tokio::test]
async fn what_no_message_tells_is_in_the_prompt() {
    let store = store().await;
    let mut chat = open(&store).await;
    standing(&mut chat, "EUR");
    turn(&mut chat, "A train?").await;
    chat.set([currency("USD"), user("And now?")]);
    let shown = chat.resolve().await.unwrap();
    assert!(shown.system_prompt.contains("USD") && !shown.system_prompt.contains("in EUR.<"));
    assert_eq!(shown.changes.fragments[0].kind, ChangeKind::Changed);
}

#[tokio::test]
async fn a_large_change_and_a_compaction_send_the_prompt_in_full() {
    let store = store().await;
    let mut chat = open(&store).await;
    standing(&mut chat, "EUR");
    let (first, _) = turn(&mut chat, "A train?").await;
    chat.set([hint(LONG.repeat(30)).with_id("more")]);
    let (second, messages) = turn(&mut chat, "And now?").await;
    assert!(second.len() > first.len() && messages.last().unwrap() == "And now?");
    chat.set([currency("USD")]);
    let (third, _) = turn(&mut chat, "And then?").await;
    assert_eq!(second, third);
    let shown = chat.resolve().await.unwrap();
    let history = shown.request().messages;
    let kept = HistoryRewrite::retain(&history, [0, history.len() - 2, history.len() - 1]);
    chat.compact(&shown, &kept, &[]).await.unwrap().unwrap();
    let (fourth, _) = turn(&mut chat, "And tomorrow?").await;
    assert!(fourth.contains("USD") && fourth != third, "nothing was cached any more");
}

/// Regression: the record of what was told grew with each change, and was written with each.
#[tokio::test]
async fn the_record_of_many_changes_stays_small() {
    let store = store().await;
    let mut chat = open(&store).await;
    standing(&mut chat, "EUR");
    let (first, _) = turn(&mut chat, "A train?").await;
    let record = chat.chat().await.unwrap().metadata;
    for number in 0..40 {
        chat.set([currency(&format!("currency {number}"))]);
        assert_eq!(turn(&mut chat, "And now?").await.0, first);
    }
    assert_eq!(chat.chat().await.unwrap().metadata, record);
}

/// Regression: a prompt that was sent in full again was contradicted by older notes behind it,
/// which a model takes for the newer word.
#[tokio::test]
async fn a_prompt_that_is_sent_anew_says_that_older_notes_no_longer_hold() {
    let store = store().await;
    let mut chat = open(&store).await;
    standing(&mut chat, "EUR");
    turn(&mut chat, "A train?").await;
    chat.set([currency("USD")]);
    turn(&mut chat, "And now?").await;
    // No message tells that it is EUR again.
    chat.set([currency("EUR"), user("And then?")]);
    let anew = String::from(chat.resolve().await.unwrap().system_prompt);
    insta::assert_snapshot!("prompt_anew", anew.replace(LONG, ""));
    chat.save().await.unwrap();
    let (next, _) = turn(&mut chat, "Thanks.").await;
    assert_eq!(next, anew, "it is the frozen one now");
    chat.set([currency("GBP")]);
    let (last, messages) = turn(&mut chat, "And tomorrow?").await;
    assert_eq!(last, anew);
    assert!(messages.last().unwrap().contains("(state 2) have changed"));
}

/// Two branches tell different changes of the same prompt.
#[tokio::test]
async fn a_branch_is_sent_what_its_own_messages_tell() {
    let store = store().await;
    let mut chat = open(&store).await;
    standing(&mut chat, "EUR");
    chat.set([user("A train?").with_id("ask")]);
    chat.save().await.unwrap();
    chat.resolve().await.unwrap();
    chat.set([assistant("Fine.")]);
    chat.save().await.unwrap();
    chat.set([currency("USD")]);
    turn(&mut chat, "And now?").await;
    chat.rewind(&"ask".into()).await.unwrap();
    chat.resolve().await.unwrap();
    chat.set([currency("EUR")]);
    turn(&mut chat, "Elsewhere?").await;
    chat.switch_branch("main").await.unwrap();
    let shown = chat.resolve().await.unwrap();
    assert!(
        shown.system_prompt.contains("in EUR.") && shown.system_prompt.contains("no longer hold")
    );
}

/// Regression: a message that was sent again counted as one that tells the change.
#[tokio::test]
async fn a_message_that_was_stored_before_tells_nothing_new() {
    let store = store().await;
    let mut chat = open(&store).await;
    standing(&mut chat, "EUR");
    chat.set([user("A train?").with_id("u1")]);
    chat.save().await.unwrap();
    chat.resolve().await.unwrap();
    chat.set([currency("USD"), user("A train?").with_id("u1")]);
    chat.save().await.unwrap();
    assert!(chat.resolve().await.unwrap().system_prompt.contains("USD"));
}

/// Regression: a process sent the prompt that it had frozen beside another one's note.
#[tokio::test]
async fn another_writer_s_notes_are_seen() {
    let store = store().await;
    let (mut desk, mut phone) = (open(&store).await, open(&store).await);
    standing(&mut desk, "EUR");
    let (first, _) = turn(&mut desk, "A train?").await;
    standing(&mut phone, "EUR");
    turn(&mut phone, "Hello?").await;
    desk.set([currency("USD")]);
    assert_eq!(turn(&mut desk, "And now?").await.0, first);
    // The other engine's fragments are as they were. The note that it finds contradicts them.
    let (prompt, messages) = turn(&mut phone, "And here?").await;
    assert!(messages.iter().any(|text| text.contains("Prices are in USD.")));
    assert!(prompt.contains("Prices are in EUR.") && prompt.contains("no longer hold"));
}

/// Regression: a prompt that disclaims notes of earlier states stood beside a note of another
/// writer's state of the same number.
#[tokio::test]
async fn only_notes_of_earlier_states_are_disclaimed() {
    let store = store().await;
    let (mut desk, mut phone) = (open(&store).await, open(&store).await);
    for chat in [&mut desk, &mut phone] {
        standing(chat, "EUR");
        turn(chat, "Hello?").await;
    }
    desk.set([currency("USD")]);
    turn(&mut desk, "And now?").await;
    // Both send a second state, and the phone tells a change of its own.
    phone.set([currency("CHF"), user("And here?")]);
    assert!(phone.resolve().await.unwrap().system_prompt.contains("state 2"));
    desk.set([currency("EUR"), user("And there?")]);
    assert!(desk.resolve().await.unwrap().system_prompt.contains("state 2"));
    phone.save().await.unwrap();
    phone.set([currency("GBP")]);
    turn(&mut phone, "And tomorrow?").await;
    desk.save().await.unwrap();
    let sent = desk.resolve().await.unwrap();
    let request = sent.request();
    let tells = |message: &Arc<Message>| message.plain_text().contains("(state 2)");
    assert!(request.messages.iter().any(tells));
    assert!(sent.system_prompt.contains("instructions are state 3"), "{}", sent.system_prompt);
}

/// Regression: a save ran the loaders of a prompt, and failed with them.
#[tokio::test]
async fn a_save_loads_nothing_for_the_prompt() {
    let store = store().await;
    let mut chat = open(&store).await;
    standing(&mut chat, "EUR");
    turn(&mut chat, "A train?").await;
    let broken = lazy(|| async { Err::<&str, _>(std::io::Error::other("disk gone")) });
    chat.set([hint(broken), user("And now?")]);
    chat.save().await.unwrap();
    assert!(chat.resolve().await.is_err());
}

#[tokio::test]
async fn whoever_goes_back_before_the_change_is_sent_what_holds() {
    let store = store().await;
    let mut chat = open(&store).await;
    standing(&mut chat, "EUR");
    chat.set([user("A train?").with_id("ask")]);
    chat.save().await.unwrap();
    let first = chat.resolve().await.unwrap().system_prompt;
    chat.set([assistant("Fine.")]);
    chat.save().await.unwrap();
    chat.set([currency("USD")]);
    turn(&mut chat, "And now?").await;
    chat.rewind(&"ask".into()).await.unwrap();
    let now = chat.resolve().await.unwrap().system_prompt;
    assert!(now.contains("USD") && now != first);
}

#[tokio::test]
async fn the_next_request_begins_like_the_one_before() {
    let store = store().await;
    let mut chat = open(&store).await;
    let runtime = builder().window(100_000).build().unwrap();
    standing(&mut chat, "EUR");
    for (turn, prices) in ["EUR", "USD", "GBP"].into_iter().enumerate() {
        chat.set([currency(prices), user(format!("Turn {turn}"))]);
        chat.save().await.unwrap();
        let input = chat.resolve().await.unwrap().prepare();
        let context = runtime.prepare_for_model(input).await.unwrap();
        assert!(context.prefix.intact && codes(&context).is_empty(), "{turn}");
        chat.set([assistant("Fine.")]);
        chat.save().await.unwrap();
    }
}
