//! An agent reads conversations that are too long for one answer.

use std::sync::Arc;

use context_runtime::{ChatRef, Part, Spill};
use serde_json::{Value, json};

use super::Client;
use crate::service::Api;

/// Writes a chat of these texts, which are asked and answered in turn.
async fn chat(api: &Api, chat: &str, texts: impl IntoIterator<Item = String>) {
    let messages = texts.into_iter().enumerate().map(|(at, text)| {
        let role = if at % 2 == 0 { "user" } else { "assistant" };
        json!({"id": format!("{chat}-{}", at + 1), "role": role, "text": text})
    });
    let messages = json!({"messages": messages.collect::<Vec<_>>()});
    api.post(&format!("/v1/chats/{chat}/messages"), messages).await.ok();
}

/// Returns the numbers of the messages that an answer shows.
fn numbers(answer: &str) -> Vec<u64> {
    let heads = answer.lines().filter_map(|line| line.strip_prefix('#')?.split_once(" · message"));
    heads.map(|(number, _)| number.parse().unwrap()).collect()
}

/// Returns the number that an answer names for going on.
fn way(answer: &str, before: &str) -> Option<u64> {
    let first_line = answer.lines().next().unwrap();
    let (_, rest) = first_line.split_once(before)?;
    rest.split(|it: char| !it.is_ascii_digit()).next().unwrap().parse().ok()
}

const EARLIER: &str = "earlier ones: read_messages with last ";
const LATER: &str = "later ones: read_messages with first ";

#[tokio::test]
async fn a_long_chat_is_read_from_either_end_without_a_gap() {
    let api = Api::new().await;
    chat(&api, "long", (1..=121).map(|it| format!("{it} {}", "word ".repeat(200)))).await;
    let client = Client { api: &api, user: "ada" };
    let (mut forward, mut next) = (Vec::new(), Some(1));
    while let Some(first) = next {
        let read = client.ok("read_messages", json!({"chat": "long", "first": first})).await;
        assert!(read.len() < 41_000, "{}", read.len());
        forward.extend(numbers(&read));
        assert_eq!(way(&read, EARLIER), (first > 1).then(|| first - 1), "the way back");
        next = way(&read, LATER);
    }
    assert_eq!(forward, (1..=121).collect::<Vec<_>>());
    let (mut backward, mut last) = (Vec::new(), None);
    loop {
        let read = client.ok("read_messages", json!({"chat": "long", "last": last})).await;
        let shown = numbers(&read);
        assert!(!shown.is_empty() && shown.is_sorted(), "{shown:?}");
        assert_eq!(way(&read, LATER), last.map(|last: u64| last + 1), "the way on");
        backward.splice(0..0, shown);
        last = way(&read, EARLIER);
        if last.is_none() {
            break;
        }
    }
    assert_eq!(backward, forward, "the newest come first, and then the ones before them");
}

#[tokio::test]
async fn a_long_message_does_not_hide_the_others() {
    let api = Api::new().await;
    let texts = ["one", "two", &"x".repeat(34_798), "four", "five", "six"];
    chat(&api, "trip", texts.map(ToOwned::to_owned)).await;
    let client = Client { api: &api, user: "ada" };
    let read = client.ok("read_messages", json!({"chat": "trip"})).await;
    assert_eq!(numbers(&read), [1, 2, 3, 4, 5, 6]);
    let told = "(8000 of 34798 bytes; all of it: read_messages with message \"trip-3\")";
    assert!(read.contains(told), "{}", &read[8_000..]);
    let range = client.ok("read_messages", json!({"chat": "trip", "first": 3, "last": 4})).await;
    assert!(range.contains(told) && range.ends_with("\nfour\n"), "{range}");
    // Alone it is whole, by its number as by its id.
    for asked in [
        json!({"chat": "trip", "first": 3, "last": 3}),
        json!({"chat": "trip", "message": "trip-3"}),
        json!({"chat": "trip", "message": "3"}),
        json!({"chat": "trip", "first": 3, "offset": 0}),
    ] {
        let alone = client.ok("read_messages", asked.clone()).await;
        assert!(alone.ends_with(&"x".repeat(34_798)), "{asked}: {}", alone.len());
        assert!(alone.starts_with("[message 3 of 6; around it: first 1, last 6]\n"), "{asked}");
    }
}

#[tokio::test]
async fn pieces_of_a_message_lead_on_and_back() {
    let api = Api::new().await;
    chat(&api, "big", ["é".repeat(50_000)]).await;
    let client = Client { api: &api, user: "ada" };
    let piece = |offset: u64| json!({"chat": "big", "message": "big-1", "offset": offset});
    let middle = client.ok("read_messages", piece(40_000)).await;
    let head = "[message 1 of 1; bytes 40000 to 80000 of 100000; go back with offset 0; go on with \
                offset 80000]";
    assert!(middle.starts_with(head), "{}", &middle[..200]);
    let end = client.ok("read_messages", piece(80_000)).await;
    assert!(end.contains("go back with offset 40000]"), "{}", &end[..200]);
    let (beyond, failed) = client.call("read_messages", piece(100_000)).await;
    assert!(failed && beyond == "offset: the message has 100000 bytes", "{beyond}");
}

#[tokio::test]
async fn numbers_that_name_nothing_are_refused_with_the_reason() {
    let api = Api::new().await;
    chat(&api, "trip", (1..=6).map(|it| it.to_string())).await;
    api.post("/v1/chats/other/messages", json!({"messages": [{"role": "user", "text": "x"}]}))
        .await
        .ok();
    let client = Client { api: &api, user: "ada" };
    for (asked, said) in [
        (json!({"first": 5, "last": 2}), "last: 2 comes before 5, which is `first`"),
        (json!({"first": 7}), "first: there is no message 7: they are numbered from 1 to 6"),
        (json!({"first": 0}), "numbered from 1 to 6"),
        (json!({"last": 0}), "numbered from 1 to 6"),
        (json!({"first": 1, "last": 2, "offset": 3}), "offset: it needs one message"),
        (json!({"message": "2", "first": 1}), "leave `first` and `last` out"),
        (json!({"message": "trip-9"}), "search_history finds messages"),
        (json!({"message": "9"}), "numbered from 1 to 6"),
        (json!({"branch": "draft"}), "no branch \"draft\", but main; without `branch` it is"),
        (json!({"chat": "trap"}), "list_chats lists those that there are"),
    ] {
        let mut arguments = json!({"chat": "trip"});
        arguments.as_object_mut().unwrap().extend(asked.as_object().unwrap().clone());
        let (answer, failed) = client.call("read_messages", arguments).await;
        assert!(failed && answer.contains(said), "{asked}: {answer}");
    }
    let clamped = client.ok("read_messages", json!({"chat": "trip", "last": 40})).await;
    assert_eq!(numbers(&clamped), [1, 2, 3, 4, 5, 6]);
}

#[tokio::test]
async fn a_hit_is_read_with_what_surrounds_it() {
    let api = Api::new().await;
    let text = |it: u64| if it == 40 { "a zeppelin".to_owned() } else { format!("text {it}") };
    chat(&api, "trip", (1..=60).map(text)).await;
    let client = Client { api: &api, user: "ada" };
    let found = client.ok("search_history", json!({"query": "zeppelin"})).await;
    assert!(found.starts_with("chat \"trip\" · message \"trip-40\" · #40 · assistant"), "{found}");
    let hit = client.ok("read_messages", json!({"chat": "trip", "message": "trip-40"})).await;
    assert!(hit.starts_with("[message 40 of 60; around it: first 37, last 43]"), "{hit}");
    let around = json!({"chat": "trip", "first": 37, "last": 43});
    let around = client.ok("read_messages", around).await;
    assert_eq!(numbers(&around), (37..=43).collect::<Vec<_>>());
    assert!(around.contains("#40 · message \"trip-40\" · assistant · "), "{around}");
}

#[tokio::test]
async fn a_message_of_another_branch_names_its_branch_and_may_be_forked() {
    let api = Api::new().await;
    chat(&api, "trip", (1..=4).map(|it| format!("text {it}"))).await;
    let rewind = json!({"action": "rewind", "message": "trip-2"});
    let moved: Value = api.post("/v1/chats/trip/actions", rewind).await.ok();
    assert_ne!(moved["branch"], "main");
    let client = Client { api: &api, user: "ada" };
    let newest = client.ok("read_messages", json!({"chat": "trip"})).await;
    assert_eq!(numbers(&newest), [1, 2]);
    let left = client.ok("read_messages", json!({"chat": "trip", "message": "trip-4"})).await;
    let head = "[message 4 of 4, branch \"main\"; around it: first 1, last 4, branch \"main\"]";
    assert!(left.starts_with(head), "{left}");
    let earlier = json!({"chat": "trip", "branch": "main", "first": 3});
    let earlier = client.ok("read_messages", earlier).await;
    let head = "[messages 3 to 4 of 4, branch \"main\"; earlier ones: read_messages with last 2, \
                branch \"main\"]";
    assert!(earlier.starts_with(head), "{earlier}");
    client.ok("fork", json!({"chat": "trip", "message": "trip-4", "to": "by-id"})).await;
    let fork = client.ok("read_messages", json!({"chat": "by-id"})).await;
    assert_eq!(numbers(&fork), [1, 2, 3, 4]);
    client.ok("fork", json!({"chat": "by-id", "message": "3", "to": "by-number"})).await;
    let fork = client.ok("read_messages", json!({"chat": "by-number"})).await;
    assert_eq!(numbers(&fork), [1, 2, 3]);
}

#[tokio::test]
async fn a_result_that_was_too_large_for_the_window_is_read_in_full() {
    let api = Api::new().await;
    chat(&api, "trip", ["one".to_owned()]).await;
    let whole: String = (0..3_000).map(|line| format!("line {line} äöü\n")).collect();
    let spill = Spill::new(Arc::clone(&api.store)).unwrap();
    let blob = spill.put(&ChatRef::new("ada", "trip"), whole.clone(), "text/plain").await.unwrap();
    let record = json!({"blob": blob.id, "bytes": blob.bytes, "reason": "tool_result_too_large"});
    let result = json!({"type": "tool_result", "call_id": "c1", "name": "log",
        "output": [{"type": "text", "text": "line 0 …"}], "metadata": {"spilled": record}});
    let messages = json!({"messages": [
        {"role": "assistant", "parts": [Part::tool_call("c1", "log", json!({}))]},
        {"id": "result", "role": "tool", "parts": [result]},
    ]});
    api.post("/v1/chats/trip/messages", messages).await.ok();
    let client = Client { api: &api, user: "ada" };
    let among = client.ok("read_messages", json!({"chat": "trip"})).await;
    let told = "(a result is shortened; all of it: read_messages with message \"result\")";
    assert!(among.contains("line 0 …") && among.contains(told), "{among}");
    let (mut read, mut offset) = (String::new(), Some(0));
    while let Some(at) = offset {
        let asked = json!({"chat": "trip", "message": "result", "offset": at});
        let piece = client.ok("read_messages", asked).await;
        offset = way(&piece, "go on with offset ");
        read += piece.splitn(4, '\n').nth(3).unwrap();
    }
    assert_eq!(read, format!("← log {whole}"));
}
