//! Server-sent events of chats and streams.

use axum::body::Body;
use axum::http::Request;
use futures_util::StreamExt;
use serde_json::json;
use tower::ServiceExt;

use super::Api;

/// Reads events of an address until `enough` of them are there, or they end.
async fn events(api: &Api, path: &str, seen: Option<&str>, enough: usize) -> Vec<String> {
    let mut request = Request::get(path)
        .header("host", "api.example")
        .header("authorization", "Bearer ada-token");
    if let Some(seen) = seen {
        request = request.header("last-event-id", seen);
    }
    let answer = api.router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    let mut pieces = answer.into_body().into_data_stream();
    let mut text = String::new();
    while text.matches("\n\n").count() < enough {
        let Some(piece) = pieces.next().await else { break };
        text.push_str(std::str::from_utf8(&piece.unwrap()).unwrap());
    }
    text.split("\n\n").filter(|event| event.starts_with("event")).map(ToOwned::to_owned).collect()
}

#[tokio::test]
async fn a_reader_of_a_stream_goes_on_where_its_connection_was_lost() {
    let api = Api::new().await;
    api.send("ada", "PUT", "/v1/chats/trip", &[], Some(json!({}))).await.ok();
    let path = "/v1/chats/trip/streams/answer";
    let write =
        |offset: u64, chunks: &[&str]| json!({"writer": "w1", "offset": offset, "chunks": chunks});
    api.post(path, write(0, &["Window", " or\n"])).await.ok();
    let repeated = api.post(path, write(0, &["Window", " or\n"])).await.ok();
    assert_eq!((&repeated["chunks"], &repeated["state"]), (&json!(2), &json!("running")));
    let first = events(&api, &format!("{path}/events"), None, 2).await;
    let expected = [
        "event: chunk\nid: 0\ndata: {\"offset\":0,\"chunk\":\"Window\"}",
        "event: chunk\nid: 1\ndata: {\"offset\":1,\"chunk\":\" or\\n\"}",
    ];
    assert_eq!(first, expected);

    let mut last = write(2, &["aisle?"]);
    last["end"] = json!("completed");
    api.post(path, last).await.ok();
    let rest = events(&api, &format!("{path}/events"), Some("1"), 9).await;
    assert_eq!(rest[0], "event: chunk\nid: 2\ndata: {\"offset\":2,\"chunk\":\"aisle?\"}");
    assert!(rest[1].starts_with("event: end\n") && rest[1].contains("completed"), "{}", rest[1]);
    assert_eq!(rest.len(), 2);
    api.post(path, write(3, &["more"])).await.problem(409);
    let (events, seen) = (format!("{path}/events"), [("last-event-id", "x")]);
    api.send("ada", "GET", &events, &seen, None).await.problem(422);
    api.get("/v1/chats/trip/streams/none/events").await.problem(404);
}

#[tokio::test]
async fn a_writer_learns_that_a_reader_has_had_enough() {
    let api = Api::new().await;
    api.send("ada", "PUT", "/v1/chats/trip", &[], Some(json!({}))).await.ok();
    let path = "/v1/chats/trip/streams/answer";
    let write = json!({"writer": "w1", "offset": 0, "chunks": ["a"]});
    assert_eq!(api.post(path, write).await.ok()["cancel_requested"], false);
    api.send("ada", "POST", &format!("{path}/cancel"), &[], None).await.ok();
    let write = json!({"writer": "w1", "offset": 1, "chunks": ["b"]});
    assert_eq!(api.post(path, write).await.ok()["cancel_requested"], true);
    let end = json!({"writer": "w1", "offset": 2, "end": "cancelled"});
    assert_eq!(api.post(path, end).await.ok()["state"], "cancelled");
    let write = json!({"writer": "w2", "offset": 0, "chunks": ["mine"]});
    api.post(path, write).await.problem(409);
}

#[tokio::test]
async fn a_chat_is_followed_from_its_present_state() {
    let api = Api::new().await;
    let say = json!({"messages": [{"id": "m1", "role": "user", "text": "Hi."}]});
    api.post("/v1/chats/trip/messages", say).await.ok();
    let first = events(&api, "/v1/chats/trip/events", None, 1).await;
    assert!(first[0].contains(r#""heads":[["main","m1"]]"#), "{}", first[0]);
    let id = first[0].lines().find_map(|line| line.strip_prefix("id: ")).unwrap().to_owned();
    // A reader that has this state gets the next one.
    let next = events(&api, "/v1/chats/trip/events", Some(&id), 1);
    let say = json!({"messages": [{"id": "m2", "role": "user", "text": "There?"}]});
    let path = "/v1/chats/trip/messages";
    let (next, _) = tokio::join!(next, async { api.post(path, say).await.ok() });
    assert!(next[0].contains(r#""heads":[["main","m2"]]"#), "{}", next[0]);
}

#[tokio::test]
async fn a_user_has_a_bounded_number_of_event_streams() {
    let api = Api::with(|service| {
        let mut limits = context_server::ServiceLimits::default();
        limits.event_streams = 2;
        service.limits(limits)
    })
    .await;
    api.send("ada", "PUT", "/v1/chats/trip", &[], Some(json!({}))).await.ok();
    let follow = || {
        let request = Request::get("/v1/chats/trip/events")
            .header("host", "api.example")
            .header("authorization", "Bearer ada-token");
        api.router.clone().oneshot(request.body(Body::empty()).unwrap())
    };
    let (one, two) = (follow().await.unwrap(), follow().await.unwrap());
    let third = follow().await.unwrap();
    assert_eq!(
        (one.status(), two.status(), third.status()),
        (200.try_into().unwrap(), 200.try_into().unwrap(), 429.try_into().unwrap())
    );
    drop(one);
    assert_eq!(follow().await.unwrap().status(), 200, "a stream that ended makes room");
}
