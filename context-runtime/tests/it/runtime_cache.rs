//! The prefixes of requests: what a provider can have in its cache, and where cache entries end.

use std::sync::Arc;

use context_runtime::model::Usage;
use context_runtime::{ContextRuntime, FunctionTool, Message, PrepareInput, RecallPlace, Tool};

use crate::runtime_kit::*;

fn tool(name: &str) -> Tool {
    let schema = serde_json::json!({"type": "object"});
    FunctionTool::new(name, schema).into()
}

#[tokio::test]
async fn a_conversation_that_grows_keeps_its_beginning() {
    let runtime = builder().build().unwrap();
    let mut history = vec![ask("q"), reply("r")];
    let given =
        |history: &[Arc<Message>]| input(history).system("You book trips.").tools([tool("search")]);
    let first = runtime.prepare_for_model(given(&history)).await.unwrap();
    assert_eq!(
        (first.prefix.shared.clone(), first.prefix.intact, first.prefix.reused),
        (None, true, 0)
    );
    assert_eq!(
        first.metadata.get("prefix_hash").unwrap().as_str(),
        format!("{:?}", first.prefix.hash)
    );
    history.push(ask("more"));
    let second = runtime.prepare_for_model(given(&history)).await.unwrap();
    assert_eq!(second.prefix.shared.as_ref(), Some(&first.prefix.hash));
    assert!(second.prefix.intact);
    assert_eq!(second.prefix.reused, first.breakdown.total().tokens());
    // A message of the history was rewritten.
    history[1] = reply("R");
    let third = runtime.prepare_for_model(given(&history)).await.unwrap();
    assert!(!third.prefix.intact && third.prefix.shared.as_ref() != Some(&second.prefix.hash));
    assert_eq!(codes(&third), ["prefix_changed"]);
    assert_eq!(third.prefix.reused, first.breakdown.total().tokens() - 1);
    // The tools changed, so the whole prefix is lost.
    let other = given(&history).tools([tool("book")]);
    let fourth = runtime.prepare_for_model(other).await.unwrap();
    assert_eq!((codes(&fourth), fourth.prefix.reused), (vec!["prefix_changed"], 0));
}

#[tokio::test]
async fn the_same_words_read_again_are_the_same_beginning() {
    let runtime = builder().build().unwrap();
    let history = [ask("q"), call("a"), result("a", "ok")];
    let first = prepare(&runtime, &history).await;
    let read_again: Vec<_> = history.iter().map(|message| Arc::new((**message).clone())).collect();
    let second = prepare(&runtime, &read_again).await;
    assert_eq!(second.prefix.shared, Some(first.prefix.hash));
    assert_eq!(second.request.messages, first.request.messages);
}

#[tokio::test]
async fn entries_of_the_cache_end_where_the_next_request_still_is_the_same() {
    let notes = FixedMemory::saying("note");
    let place = RecallPlace::AfterRequest;
    let runtime = builder().memory(notes).recall_place(place).build().unwrap();
    let mut history = vec![ask("hello"), reply("hi"), ask("book")];
    let first = prepare(&runtime, &history).await;
    // After the request, not after the recall.
    assert_eq!((first.request.messages.len(), first.request.cache.positions()), (4, &[2][..]));
    history.extend([call("a"), result("a", "ok")]);
    assert_eq!(prepare(&runtime, &history).await.request.cache.positions(), [2, 5]);
    history.extend([call("b"), result("b", "ok")]);
    let third = prepare(&runtime, &history).await;
    assert_eq!(third.request.cache.positions(), [2, 5, 7]);
    assert!(third.request.cache.positions().len() < 4, "one is left for the system prompt");

    let plain = builder().build().unwrap();
    let talk: Vec<_> = (0..6).flat_map(|i| [ask(&format!("q{i}")), reply("a")]).collect();
    let talk = [talk, vec![ask("last")]].concat();
    assert_eq!(prepare(&plain, &talk).await.request.cache.positions(), [12]);
    let elsewhere = PrepareInput::new(("ada", "s"), "t", "openai", "gpt-4o").messages(talk);
    assert_eq!(
        plain.prepare_for_model(elsewhere).await.unwrap().request.cache.positions(),
        Vec::<usize>::new()
    );
}

#[cfg(feature = "anthropic")]
#[tokio::test]
async fn a_body_has_at_most_four_marks() {
    let codec = context_runtime::provider("anthropic").unwrap();
    let runtime = builder().build().unwrap();
    let mut history = vec![ask("q")];
    for step in 0..6 {
        let given = input(&history).system("You book trips.").tools([tool("search")]);
        let context = runtime.prepare_for_model(given).await.unwrap();
        let body = codec.lower(&context.request).unwrap().body;
        let marks = body.as_str().matches("cache_control").count();
        assert!((2..=4).contains(&marks), "{body:?}");
        history.extend([call(&format!("c{step}")), result(&format!("c{step}"), "ok")]);
    }
}

#[tokio::test]
async fn sessions_are_apart_and_old_ones_are_forgotten() {
    let runtime = builder().max_sessions(2).build().unwrap();
    let prepare = async |session: &str| {
        let input = PrepareInput::new(("ada", session), "t", "anthropic", "m")
            .messages([Message::from(session)]);
        runtime.prepare_for_model(input).await.unwrap().prefix.shared.is_some()
    };
    assert!(!prepare("a").await && !prepare("b").await);
    assert!(prepare("a").await && prepare("b").await);
    for session in ["c", "d", "e", "f"] {
        assert!(!prepare(session).await);
    }
    assert!(!prepare("a").await);
    assert!(
        runtime.forget_chat(&("ada", "a").into()) && !runtime.forget_chat(&("ada", "a").into())
    );
}

#[tokio::test]
async fn an_entry_lives_as_long_as_the_table_says() {
    let reused = async |builder: context_runtime::DefaultContextRuntimeBuilder, model: &str| {
        let clock = HandClock::default();
        let runtime = builder.clock(clock.clone()).build().unwrap();
        let mut history = vec![ask("q"), reply("r")];
        let given = |history: &[Arc<Message>]| {
            let history = history.iter().map(Arc::clone);
            PrepareInput::new(("ada", "s"), "t", "openai", model).messages(history)
        };
        let _ = runtime.prepare_for_model(given(&history)).await.unwrap();
        clock.advance(600);
        history.push(ask("more"));
        runtime.prepare_for_model(given(&history)).await.unwrap().prefix.reused > 0
    };
    let hour = std::time::Duration::from_secs(3_600);
    for (model, lives, lives_an_hour) in [
        ("claude-sonnet-4-5", false, false), // five minutes: this form cannot ask for an hour
        ("gpt-6.1-sol", true, true),         // half an hour
        ("house-1", false, true),            // not known
    ] {
        assert_eq!(reused(builder(), model).await, lives, "{model}");
        assert_eq!(reused(builder().cache_lifetime(hour), model).await, lives_an_hour, "{model}");
    }
}

/// A provider counts a third more than the estimate. The next count starts from what it reported,
/// so that an error does not grow with the history.
#[tokio::test]
async fn what_the_provider_counted_is_the_base_of_the_next_count() {
    let runtime = builder().window(100_000).build().unwrap();
    let chat = ("ada", "s").into();
    let mut history = vec![ask(&"a question ".repeat(100)), reply("an answer")];
    let estimated = prepare(&runtime, &history).await.breakdown.total().tokens();
    let reported = estimated * 4 / 3;
    let mut usage = Usage::default();
    (usage.input, usage.cache_read) = (reported - 100, 100);
    runtime.observe_usage(&chat, &usage);

    history.push(ask("and then?"));
    let next = prepare(&runtime, &history).await.breakdown.total().tokens();
    let new = next.checked_sub(reported).expect("no less than what was reported");
    assert!((9..=40).contains(&new), "{new} tokens for a new message of nine letters");
    // Nothing was reported for the newest request, so the earlier one is still the base.
    let again = prepare(&runtime, &history).await.breakdown.total().tokens();
    assert_eq!(again, next);
    // A report about something else is not believed.
    usage.input = reported * 100;
    runtime.observe_usage(&chat, &usage);
    assert!(prepare(&runtime, &history).await.breakdown.total().tokens() < reported * 2);
}
