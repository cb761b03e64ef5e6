//! Branches, checkpoints, search and upkeep.

use serde_json::json;

use super::Api;

async fn conversation(api: &Api) -> Vec<String> {
    let messages = json!({"messages": [
        {"id": "m1", "role": "user", "text": "Two tickets to Lisbon."},
        {"id": "m2", "role": "assistant", "text": "Window or aisle?"},
        {"id": "m3", "role": "user", "text": "Window."},
    ]});
    let appended = api.post("/v1/chats/trip/messages", messages).await.ok();
    serde_json::from_value(appended["ids"].clone()).unwrap()
}

#[tokio::test]
async fn branches_part_and_are_written_to_by_name() {
    let api = Api::new().await;
    assert_eq!(conversation(&api).await, ["m1", "m2", "m3"]);
    let actions = "/v1/chats/trip/actions";
    let named = json!({"action": "checkpoint", "message": "m2", "name": "asked"});
    api.post(actions, named).await.ok();
    let rewound = api.post(actions, json!({"action": "rewind", "message": "m2"})).await.ok();
    assert_eq!(rewound["branch"], "main-v2");
    // The active branch is the one that the rewind opened.
    let say = |text: &str| json!({"messages": [{"role": "user", "text": text}]});
    assert_eq!(api.post("/v1/chats/trip/messages", say("Aisle.")).await.ok()["branch"], "main-v2");
    let mut on_main = say("Thank you.");
    on_main["branch"] = json!("main");
    api.post("/v1/chats/trip/messages", on_main).await.ok();
    let chat = api.get("/v1/chats/trip").await.ok();
    assert_eq!(
        (&chat["active"], chat["branches"].as_array().unwrap().len()),
        (&json!("main-v2"), 2)
    );
    assert_eq!(chat["checkpoints"], json!([{"name": "asked", "message": "m2"}]));
    let forked =
        api.post(actions, json!({"action": "fork", "message": "m2", "to": "copy"})).await.ok();
    assert_eq!(forked["chat"], "copy");
    let copied = api.get("/v1/chats/copy/messages").await.ok();
    assert_eq!(copied["messages"].as_array().unwrap().len(), 2);
    let unknown = api.post(actions, json!({"action": "explode"})).await;
    assert!(unknown.problem(422).contains("unknown variant `explode`"));
    api.post(actions, json!({"action": "rewind", "message": "m9"})).await.problem(404);
}

#[tokio::test]
async fn words_are_found_and_removed_with_the_message() {
    let api = Api::new().await;
    conversation(&api).await;
    let found = api.get("/v1/search?q=lisbon").await.ok();
    assert_eq!(
        (&found["hits"][0]["chat"], &found["hits"][0]["message"]),
        (&json!("trip"), &json!("m1"))
    );
    let redact = json!({"action": "redact", "message": "m1"});
    api.post("/v1/chats/trip/actions", redact).await.ok();
    assert_eq!(api.get("/v1/search?q=lisbon").await.ok()["hits"], json!([]));
}

#[tokio::test]
async fn a_user_is_erased_and_nobody_else() {
    let api = Api::new().await;
    conversation(&api).await;
    let message = json!({"messages": [{"role": "user", "text": "Mine."}]});
    api.send("bob", "POST", "/v1/chats/own/messages", &[], Some(message)).await.ok();
    let erased = api.send("ada", "DELETE", "/v1/user", &[], None).await.ok();
    assert_eq!(
        (&erased["chats"], &erased["messages"], &erased["remaining"]),
        (&json!(1), &json!(3), &json!(0))
    );
    assert_eq!(api.get("/v1/chats").await.ok()["chats"], json!([]));
    assert_eq!(api.send("bob", "GET", "/v1/chats/own", &[], None).await.ok()["chat"], "own");
}

#[tokio::test]
async fn an_administrator_checks_the_store_and_reads_the_metrics() {
    let api = Api::new().await;
    conversation(&api).await;
    let checked = api.send("root", "POST", "/v1/upkeep/check", &[], None).await.ok();
    assert_eq!((&checked["sound"], &checked["messages"]), (&json!(true), &json!(3)));
    for (method, path) in
        [("POST", "/v1/upkeep/check"), ("POST", "/v1/upkeep/vacuum"), ("GET", "/metrics")]
    {
        api.send("ada", method, path, &[], None).await.problem(403);
    }
    let metrics = api.send("root", "GET", "/metrics", &[], None).await;
    let line = "context_http_requests_total{method=\"POST\",path=\"/v1/chats/{chat}/messages\",status=\"200\"} 1";
    assert!(metrics.text.contains(line), "{}", metrics.text);
    assert!(!metrics.text.contains("trip") && !metrics.text.contains("ada"), "no content");
}
