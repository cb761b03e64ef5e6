//! Chats and messages.

use serde_json::{Value, json};

use super::Api;

fn texts(page: &Value) -> Vec<String> {
    let messages = page["messages"].as_array().unwrap();
    let text = |message: &Value| message["body"]["parts"][0]["text"].as_str().unwrap().to_owned();
    messages.iter().map(text).collect()
}

fn say(texts: &[&str]) -> Value {
    let message = |text: &&str| json!({"role": "user", "text": text});
    json!({"messages": texts.iter().map(message).collect::<Vec<_>>()})
}

#[tokio::test]
async fn a_conversation_is_written_and_read_page_by_page() {
    let api = Api::new().await;
    let appended = api.post("/v1/chats/lisbon/messages", say(&["1", "2", "3", "4", "5"])).await;
    let appended = appended.ok();
    assert_eq!(appended["branch"], "main");
    assert_eq!(appended["ids"].as_array().unwrap().len(), 5);
    assert_eq!(appended["replayed"], false);

    let newest = api.get("/v1/chats/lisbon/messages?limit=2").await;
    let tag = newest.headers["etag"].to_str().unwrap().to_owned();
    let newest = newest.ok();
    assert_eq!(texts(&newest), ["4", "5"]);
    assert_eq!(tag, format!("\"{}\"", appended["head"].as_str().unwrap()));
    assert_eq!(newest["more"], false);
    let earlier = newest["earlier"].as_str().unwrap();
    let middle = api.get(&format!("/v1/chats/lisbon/messages?limit=2&before={earlier}")).await.ok();
    assert_eq!((texts(&middle), &middle["more"]), (vec!["2".into(), "3".into()], &json!(true)));
    let earlier = middle["earlier"].as_str().unwrap();
    let first = api.get(&format!("/v1/chats/lisbon/messages?limit=2&before={earlier}")).await.ok();
    assert_eq!((texts(&first), &first["earlier"]), (vec!["1".to_owned()], &Value::Null));

    // Forward again, with the generation and without.
    let (head, generation) = (first["head"].as_str().unwrap(), &first["generation"]);
    for query in [format!("after={head}&generation={generation}"), format!("after={head}")] {
        let path = format!("/v1/chats/lisbon/messages?limit=3&{query}");
        let next = api.get(&path).await.ok();
        assert_eq!(texts(&next), ["2", "3", "4"], "{path}");
        assert_eq!(next["more"], true);
    }
    let one = api.get(&format!("/v1/chats/lisbon/messages/{head}")).await.ok();
    assert_eq!(one["body"], json!({"role": "user", "parts": [{"type": "text", "text": "1"}]}));
    assert_eq!(one["kind"], "user");
}

#[tokio::test]
async fn a_repeated_append_changes_nothing_however_the_branch_has_grown() {
    let api = Api::new().await;
    let key = [("idempotency-key", "k1")];
    let path = "/v1/chats/lisbon/messages";
    let first = api.send("ada", "POST", path, &key, Some(say(&["a", "b"]))).await.ok();
    let at_once = api.send("ada", "POST", path, &key, Some(say(&["a", "b"]))).await.ok();
    assert_eq!((&at_once["ids"], &at_once["replayed"]), (&first["ids"], &json!(true)));
    api.post(path, say(&["c"])).await.ok();
    let later = api.send("ada", "POST", path, &key, Some(say(&["a", "b"]))).await.ok();
    assert_eq!((&later["ids"], &later["replayed"]), (&first["ids"], &json!(true)));
    assert_eq!(texts(&api.get(path).await.ok()), ["a", "b", "c"]);
    let other = api.send("ada", "POST", path, &key, Some(say(&["a", "other"]))).await;
    assert!(other.problem(409).contains("have these ids"), "{}", other.text);
}

#[tokio::test]
async fn an_append_may_name_the_newest_message_that_it_follows() {
    let api = Api::new().await;
    let path = "/v1/chats/lisbon/messages";
    let empty = [("if-match", "\"\"")];
    let first = api.send("ada", "POST", path, &empty, Some(say(&["a"]))).await;
    let tag = first.headers["etag"].to_str().unwrap().to_owned();
    first.ok();
    let refused = api.send("ada", "POST", path, &empty, Some(say(&["b"]))).await;
    assert!(refused.problem(409).contains("another newest message"), "{}", refused.text);
    let matching = [("if-match", tag.as_str())];
    api.send("ada", "POST", path, &matching, Some(say(&["b"]))).await.ok();
    api.send("ada", "POST", path, &matching, Some(say(&["c"]))).await.problem(409);
    for wrong in ["a", "\"a\", \"b\"", "*", "W/\"a\""] {
        let refused =
            api.send("ada", "POST", path, &[("if-match", wrong)], Some(say(&["c"]))).await;
        assert!(refused.problem(422).starts_with("if-match"), "{wrong}: {}", refused.text);
    }
    assert_eq!(texts(&api.get(path).await.ok()), ["a", "b"]);
}

#[tokio::test]
async fn writers_of_one_branch_lose_nothing() {
    let api = std::sync::Arc::new(Api::new().await);
    let writers = (0..16).map(|writer| {
        let api = std::sync::Arc::clone(&api);
        tokio::spawn(async move {
            for at in 0..8 {
                let text = format!("{writer}.{at}");
                api.post("/v1/chats/lisbon/messages", say(&[&text])).await.ok();
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    let mut all = texts(&api.get("/v1/chats/lisbon/messages?limit=1000").await.ok());
    assert_eq!(all.len(), 128);
    for writer in 0..16 {
        let own = all.iter().filter(|text| text.starts_with(&format!("{writer}.")));
        let in_order: Vec<_> = (0..8).map(|at| format!("{writer}.{at}")).collect();
        assert!(own.eq(in_order.iter()), "each writer's messages are in order");
    }
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 128);
}

#[tokio::test]
async fn chats_are_listed_named_and_deleted() {
    let api = Api::new().await;
    let facts = json!({"title": "A trip", "metadata": {"team": "travel", "draft": true}});
    let made = api.send("ada", "PUT", "/v1/chats/lisbon", &[], Some(facts)).await.ok();
    assert_eq!((&made["title"], &made["metadata"]["team"]), (&json!("A trip"), &json!("travel")));
    let change = json!({"metadata": {"draft": null}});
    let changed = api.send("ada", "PUT", "/v1/chats/lisbon", &[], Some(change)).await.ok();
    assert_eq!(changed["metadata"], json!({"team": "travel"}));
    assert_eq!(changed["title"], "A trip");
    assert_eq!(changed["branches"], json!([{"name": "main", "head": null}]));
    let list = api.get("/v1/chats").await.ok();
    assert_eq!(list["chats"][0]["chat"], "lisbon");
    for _ in 0..2 {
        assert_eq!(api.send("ada", "DELETE", "/v1/chats/lisbon", &[], None).await.status, 204);
    }
    api.get("/v1/chats/lisbon").await.problem(404);
}

#[tokio::test]
async fn bad_input_is_refused_by_name_before_anything_is_written() {
    let api = Api::new().await;
    let path = "/v1/chats/lisbon/messages";
    for (body, said) in [
        (json!({"messages": []}), "none to append"),
        (json!({}), "missing field `messages`"),
        (json!({"messages": [{"role": "robot", "text": "x"}]}), "unknown variant `robot`"),
        (
            json!({"messages": [{"role": "user", "text": "x", "parts": [{"type": "text", "text": "y"}]}]}),
            "text or parts",
        ),
        (json!({"messages": [{"role": "user", "content": "x"}]}), "unknown field `content`"),
        (json!({"messages": [{"role": "user", "text": "x"}], "branch": "try"}), "try"),
        (json!({"messages": [{"role": "user", "text": "x", "id": ""}]}), "message"),
    ] {
        let refused = api.post(path, body.clone()).await;
        assert!(refused.status.is_client_error(), "{body}: {}", refused.text);
        assert!(
            refused.json()["detail"].as_str().unwrap().contains(said),
            "{body}: {}",
            refused.text
        );
    }
    for query in ["limit=0", "limit=1001", "limit=x", "before=a&after=b", "after=nothing"] {
        let refused = api.get(&format!("{path}?{query}")).await;
        assert!(refused.status.is_client_error(), "{query}: {}", refused.text);
        assert_eq!(refused.headers["content-type"], "application/problem+json");
    }
    let long = "x".repeat(10_000);
    let refused = api.get(&format!("/v1/chats/{long}")).await;
    assert!(refused.problem(422).contains("limit"), "{}", refused.text);
}

/// Two writers that begin a chat at the same moment both find it.
#[tokio::test]
async fn writers_that_create_a_chat_together_both_write() {
    let api = std::sync::Arc::new(Api::new().await);
    for round in 0..50 {
        let writers = (0..4).map(|writer| {
            let api = std::sync::Arc::clone(&api);
            let path = format!("/v1/chats/new-{round}/messages");
            tokio::spawn(async move { api.post(&path, say(&[&writer.to_string()])).await.ok() })
        });
        for writer in writers.collect::<Vec<_>>() {
            writer.await.unwrap();
        }
    }
}
