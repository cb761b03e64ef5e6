//! Tries to get in, and their answers.

use axum::body::Body;
use axum::http::Request;
use context_server::{Operations, Service, ServiceLimits};
use serde_json::json;

use super::Api;

/// Another user's chat does not exist, whatever is done with it.
#[tokio::test]
async fn ids_of_another_user_lead_nowhere() {
    let api = Api::new().await;
    let say = json!({"messages": [{"id": "m1", "role": "user", "text": "The code is 4711."}]});
    api.post("/v1/chats/secret/messages", say).await.ok();
    let write = json!({"writer": "w", "offset": 0, "chunks": ["4711"]});
    api.post("/v1/chats/secret/streams/s", write).await.ok();
    api.post("/v1/memory", json!({"text": "The code is 4711."})).await.ok();
    let scope = api.get("/v1/memory").await.ok()["scopes"][0]["key"].as_str().unwrap().to_owned();
    let scope: String = scope.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let settings = json!({"model": "claude-sonnet-4-5"});
    let tries = [
        ("GET", "/v1/chats/secret".to_owned(), None),
        ("GET", "/v1/chats/secret/messages".to_owned(), None),
        ("GET", "/v1/chats/secret/messages/m1".to_owned(), None),
        ("GET", "/v1/chats/secret/events".to_owned(), None),
        ("GET", "/v1/chats/secret/streams/s".to_owned(), None),
        ("GET", "/v1/chats/secret/streams/s/events".to_owned(), None),
        ("POST", "/v1/chats/secret/streams/s/cancel".to_owned(), None),
        ("GET", "/v1/chats/secret/trajectory?format=dot".to_owned(), None),
        (
            "POST",
            "/v1/chats/secret/actions".to_owned(),
            Some(json!({"action": "rewind", "message": "m1"})),
        ),
        ("POST", "/v1/chats/secret/turns/m1".to_owned(), Some(json!({"settings": settings}))),
        ("GET", format!("/v1/memory?scope={scope}"), None),
        ("GET", format!("/v1/memory/recall?q=code&scope={scope}"), None),
        ("GET", "/v1/chats/nothing/messages".to_owned(), None),
    ];
    for (method, path, body) in tries {
        let refused = api.send("bob", method, &path, &[], body).await;
        assert_eq!(refused.status, 404, "{method} {path}: {}", refused.text);
        assert!(!refused.text.contains("4711"), "{path}");
    }
    for path in [
        "/v1/search?q=4711",
        "/v1/search?q=4711&chat=secret",
        "/v1/memory",
        "/v1/memory/recall?q=code",
        "/v1/chats",
        "/v1/chats/secret/rounds",
    ] {
        let answer = api.send("bob", "GET", path, &[], None).await;
        assert!(!answer.text.contains("4711"), "{path}: {}", answer.text);
    }
    // A write makes a chat of his own with that name, and changes nothing of hers.
    let say = json!({"messages": [{"id": "m1", "role": "user", "text": "Mine."}]});
    api.send("bob", "POST", "/v1/chats/secret/messages", &[], Some(say)).await.ok();
    api.send("bob", "DELETE", "/v1/chats/secret", &[], None).await.ok();
    assert!(api.get("/v1/chats/secret/messages").await.text.contains("4711"));
}

#[tokio::test]
async fn only_a_whole_token_in_one_header_is_one() {
    let api = Api::new().await;
    let ask = async |headers: &[(&str, &str)]| {
        let mut request = Request::get("/v1/chats").header("host", "api.example");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        api.ask(request.body(Body::empty()).unwrap()).await
    };
    assert_eq!(ask(&[("authorization", "bearer ada-token")]).await.status, 200);
    for headers in [
        &[][..],
        &[("authorization", "ada-token")],
        &[("authorization", "Bearer ")],
        &[("authorization", "Bearer ada-toke")],
        &[("authorization", "Bearer ada-token ")],
        &[("authorization", "Bearer Ada-Token")],
        &[("authorization", "Basic ada-token")],
        &[("authorization", "Bearer ada-token"), ("authorization", "Bearer bob-token")],
        &[("authorization", "Bearer bob-token"), ("authorization", "Bearer wrong")],
        &[("cookie", "token=ada-token")],
        &[("x-forwarded-user", "ada")],
        &[("x-user", "ada"), ("authorization", "Bearer x")],
    ] {
        let refused = ask(headers).await;
        refused.problem(401);
        assert_eq!(refused.headers["www-authenticate"], "Bearer", "{headers:?}");
    }
    let in_query = Request::get("/v1/chats?token=ada-token").header("host", "api.example");
    api.ask(in_query.body(Body::empty()).unwrap()).await.problem(401);
    for open in ["/healthz", "/openapi.json"] {
        let request = Request::get(open).header("host", "api.example");
        assert_eq!(api.ask(request.body(Body::empty()).unwrap()).await.status, 200, "{open}");
    }
}

/// Without tokens the service trusts its machine, so names that another site gives it, and pages of
/// other sites, are refused.
#[tokio::test]
async fn a_service_without_tokens_is_for_programs_of_this_machine() {
    let store = context_runtime::open("mem:").await.unwrap();
    let service = Service::new(Operations::new(store));
    let router = service.router();
    let ask = async |headers: &[(&str, &str)]| {
        let mut request = Request::get("/v1/chats");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer =
            tower::ServiceExt::oneshot(router.clone(), request.body(Body::empty()).unwrap());
        answer.await.unwrap().status().as_u16()
    };
    assert_eq!(ask(&[("host", "127.0.0.1:8080")]).await, 200);
    for refused in [
        &[("host", "evil.example")][..],
        &[("host", "127.0.0.1.evil.example")],
        &[],
        &[("host", "localhost:1"), ("origin", "http://evil.example")],
        &[("host", "localhost:1"), ("origin", "null")],
    ] {
        assert_eq!(ask(refused).await, 403, "{refused:?}");
    }
    let far: std::net::SocketAddr = "0.0.0.0:0".parse().unwrap();
    let error = service.bind(far).await.unwrap_err();
    assert!(error.to_string().contains("without tokens"), "{error}");
}

#[tokio::test]
async fn a_service_with_names_of_its_own_has_no_others() {
    let api = Api::with(|service| service.hosts(["api.example"])).await;
    api.get("/v1/chats").await.ok();
    let request = Request::get("/v1/chats")
        .header("host", "other.example")
        .header("authorization", "Bearer ada-token");
    api.ask(request.body(Body::empty()).unwrap()).await.problem(403);
}

#[tokio::test]
async fn paths_are_names_and_no_files() {
    let api = Api::new().await;
    for path in [
        "/v1/../../etc/passwd",
        "/v1/chats/..%2f..%2fetc%2fpasswd",
        "/v1/chats/%2e%2e/messages",
        "/v1/chats//messages",
        "/v1/chats/a%00b",
        "/v1/chats/%ff%fe",
        "/v1/chats/lisbon/messages/%0d%0aset-cookie:%20x",
        "//v1/chats",
        "/v1/chats/lisbon/",
        "/V1/chats",
        "/v2/chats",
    ] {
        let answer = api.get(path).await;
        assert!(answer.status.is_client_error(), "{path}: {}", answer.status);
        assert!(!answer.headers.contains_key("set-cookie"));
        assert!(!answer.text.contains("root:"), "{path}");
    }
    // Such a name is a name like any other where it is valid.
    let say = json!({"messages": [{"role": "user", "text": "Hi."}]});
    api.post("/v1/chats/..%2fpasswd/messages", say).await.ok();
    assert_eq!(api.get("/v1/chats").await.ok()["chats"][0]["chat"], "../passwd");
}

#[tokio::test]
async fn bodies_have_a_size_a_type_and_a_depth() {
    let api = Api::with(|service| {
        let mut limits = ServiceLimits::default();
        limits.body = 10_000;
        service.limits(limits)
    })
    .await;
    let path = "/v1/chats/lisbon/messages";
    let say = |text: &str| json!({"messages": [{"role": "user", "text": text}]});
    api.post(path, say(&"x".repeat(9_000))).await.ok();
    api.post(path, say(&"x".repeat(10_000))).await.problem(413);
    let send = async |kind: &str, body: String| {
        let request = Request::post(path)
            .header("host", "api.example")
            .header("authorization", "Bearer ada-token")
            .header("content-type", kind);
        api.ask(request.body(Body::from(body)).unwrap()).await
    };
    send("text/plain", say("x").to_string()).await.problem(415);
    send("application/x-www-form-urlencoded", "messages=x".to_owned()).await.problem(415);
    send("application/json", "{\"messages\": [".to_owned()).await.problem(400);
    let deep = format!("{}{}", "[".repeat(4_000), "]".repeat(4_000));
    let nested = format!("{{\"messages\": [{{\"role\": \"user\", \"parts\": {deep}}}]}}");
    let refused = send("application/json", nested).await;
    assert!(refused.status.is_client_error(), "{}", refused.text);
    let answer = api.get(path).await.ok();
    assert_eq!(answer["messages"].as_array().unwrap().len(), 1, "nothing else was written");
}

#[tokio::test]
async fn headers_that_are_given_twice_or_are_no_text_are_refused() {
    let api = Api::new().await;
    let path = "/v1/chats/lisbon/messages";
    let say = json!({"messages": [{"role": "user", "text": "Hi."}]});
    let twice = [("idempotency-key", "a"), ("idempotency-key", "b")];
    assert!(
        api.send("ada", "POST", path, &twice, Some(say.clone()))
            .await
            .problem(422)
            .contains("twice")
    );
    let long = "k".repeat(5_000);
    let key = [("idempotency-key", long.as_str())];
    api.send("ada", "POST", path, &key, Some(say.clone())).await.problem(422);
    let request = Request::post(path)
        .header("host", "api.example")
        .header("authorization", "Bearer ada-token")
        .header("content-type", "application/json")
        .header("idempotency-key", axum::http::HeaderValue::from_bytes(b"\xff\xfe").unwrap());
    let refused = api.ask(request.body(Body::from(say.to_string())).unwrap()).await;
    assert!(refused.problem(422).contains("no text"));
    // Methods in headers change nothing.
    let sneaky = [("x-http-method-override", "DELETE")];
    api.send("ada", "POST", path, &sneaky, Some(say)).await.ok();
    api.get("/v1/chats/lisbon").await.ok();
}

#[tokio::test]
async fn a_user_who_asks_too_often_waits_and_others_do_not() {
    let api = Api::with(|service| {
        let mut limits = ServiceLimits::default();
        limits.requests_per_second = 1;
        service.limits(limits)
    })
    .await;
    let mut refused = 0;
    for _ in 0..10 {
        let answer = api.get("/v1/chats").await;
        if answer.status == 429 {
            refused += 1;
            assert_eq!(answer.headers["retry-after"], "1");
        }
    }
    assert!(refused >= 7, "two at once, and one more in each second: {refused}");
    assert_eq!(api.send("bob", "GET", "/v1/chats", &[], None).await.status, 200);
}

#[tokio::test]
async fn a_read_only_service_changes_nothing() {
    let store = context_runtime::open("mem:").await.unwrap();
    let operations = Operations::new(store.clone()).read_only(true);
    let service = Service::new(operations).tokens(super::tokens());
    let api = Api { store, router: service.router() };
    let say = json!({"messages": [{"role": "user", "text": "Hi."}]});
    for (method, path, body) in [
        ("POST", "/v1/chats/x/messages", Some(say)),
        ("PUT", "/v1/chats/x", Some(json!({}))),
        ("DELETE", "/v1/chats/x", None),
        ("DELETE", "/v1/user", None),
        ("POST", "/v1/memory", Some(json!({"text": "x"}))),
        ("POST", "/v1/chats/x/streams/s", Some(json!({"writer": "w", "offset": 0}))),
        (
            "POST",
            "/v1/chats/x/turns",
            Some(json!({"settings": {"model": "gpt-5"}, "question": "x"})),
        ),
    ] {
        let refused = api.send("ada", method, path, &[], body).await;
        assert!(refused.problem(403).contains("read-only"), "{method} {path}");
    }
    assert_eq!(api.get("/v1/chats").await.ok()["chats"], json!([]));
}
