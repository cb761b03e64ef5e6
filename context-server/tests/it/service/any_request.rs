//! Any requests to the faces over HTTP: the API for programs, and MCP.
//!
//! `cargo xtask fuzz faces` runs these properties for minutes, with new seeds.

use axum::body::{Body, to_bytes};
use axum::http::{Method, Request};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};
use tokio::runtime::Builder;
use tower::ServiceExt as _;

use super::Api;

/// Words of one user, which no other may read.
const SECRET: &str = "the-code-is-4711";

/// A request, whose path is one of the description.
#[derive(Clone, Debug)]
struct AnyRequest {
    method: Method,
    path: Index,
    /// For each name in the path.
    names: Vec<String>,
    query: Vec<(String, String)>,
    content_type: &'static str,
    body: Vec<u8>,
    token: Option<&'static str>,
}

/// Names that exist, that do not, and that try to be something else.
fn name() -> impl Strategy<Value = String> {
    let known = select(vec!["c", "m1", "main", "s", "secret", "..", ".", "%2e%2e", "", "0"]);
    prop_oneof![known.prop_map(str::to_owned), "\\PC{0,12}", "[a-z0-9]{500,600}"]
}

fn query() -> impl Strategy<Value = Vec<(String, String)>> {
    let keys = vec![
        "q", "limit", "after", "before", "branch", "chat", "scope", "format", "at", "offset",
        "node", "user", "from", "to", "message", "kind", "cursor",
    ];
    let value = prop_oneof![
        name(),
        any::<u64>().prop_map(|number| number.to_string()),
        any::<i64>().prop_map(|number| number.to_string()),
    ];
    vec((select(keys).prop_map(str::to_owned), value), 0..4)
}

/// Bodies that clients send, to be damaged.
fn bodies() -> Vec<Value> {
    vec![
        json!({}),
        json!({"messages": [{"id": "m1", "role": "user", "text": "Which flights?"}]}),
        json!({"messages": [{"role": "assistant", "content": [{"type": "text", "text": "Two."}]}],
            "branch": "main", "expected": "m1", "key": "k"}),
        json!({"writer": "w", "offset": 0, "chunks": ["one", "two"]}),
        json!({"text": "The user likes trains.", "kind": "fact"}),
        json!({"action": "rewind", "message": "m1"}),
        json!({"action": "fork", "message": "m1", "branch": "other"}),
        json!({"settings": {"model": "claude-sonnet-4-5", "window": 1000, "reserve": 10}}),
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "any", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": "search", "arguments": {"query": "code"}}}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "resources/read", "params": {
            "uri": "context://chats/secret"}}),
        json!([1, [[]], {"a": null}]),
    ]
}

/// A body with some of its bytes replaced or cut off, or any bytes.
fn body() -> impl Strategy<Value = Vec<u8>> {
    let damaged = (select(bodies()), vec((any::<Index>(), any::<u8>()), 0..3), any::<Index>());
    let damaged = damaged.prop_map(|(body, changes, end)| {
        let mut bytes = body.to_string().into_bytes();
        for (at, byte) in &changes {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        if changes.len() == 2 {
            bytes.truncate(end.index(bytes.len()));
        }
        bytes
    });
    prop_oneof![4 => damaged, 1 => vec(any::<u8>(), 0..64)]
}

fn any_request() -> impl Strategy<Value = AnyRequest> {
    let methods =
        vec![Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::HEAD];
    let types = vec!["application/json", "text/plain", "application/octet-stream", ""];
    let tokens = vec![Some("bob"), Some("bob"), Some("bob"), Some("nobody"), None];
    (
        select(methods),
        any::<Index>(),
        vec(name(), 4),
        query(),
        prop_oneof![3 => Just("application/json"), 1 => select(types)],
        body(),
        select(tokens),
    )
        .prop_map(|(method, path, names, query, content_type, body, token)| AnyRequest {
            method,
            path,
            names,
            query,
            content_type,
            body,
            token,
        })
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

impl AnyRequest {
    /// Fills the path of a template with the names.
    fn build(&self, paths: &[String]) -> Option<Request<Body>> {
        let mut names = self.names.iter();
        let segment = |part: &str| match part.starts_with('{') {
            true => names.next().map_or_else(String::new, |name| encoded(name)),
            false => part.to_owned(),
        };
        let path: Vec<String> =
            paths[self.path.index(paths.len())].split('/').map(segment).collect();
        let query: Vec<String> =
            self.query.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        let mut request = Request::builder()
            .method(self.method.clone())
            .uri(format!("{}?{}", path.join("/"), query.join("&")))
            .header("host", "api.example")
            .header("accept", "application/json, text/event-stream");
        if !self.content_type.is_empty() {
            request = request.header("content-type", self.content_type);
        }
        if let Some(user) = self.token {
            request = request.header("authorization", format!("Bearer {user}-token"));
        }
        request.body(Body::from(self.body.clone())).ok()
    }
}

/// Asks a service in which another user has said something.
async fn ask(requests: &[AnyRequest]) -> Result<(), TestCaseError> {
    let api = Api::new().await;
    let say = json!({"messages": [{"id": "m1", "role": "user", "text": SECRET}]});
    api.post("/v1/chats/secret/messages", say).await.ok();
    api.post("/v1/memory", json!({"text": SECRET})).await.ok();
    let description = api.get("/openapi.json").await.ok();
    let paths = description["paths"].as_object().expect("paths").keys().cloned();
    let paths: Vec<String> = paths.chain(["/mcp".to_owned()]).collect();
    prop_assert!(paths.len() > 15, "{:?}", paths);
    for any in requests {
        let Some(request) = any.build(&paths) else { continue };
        let asked = format!("{} {}", request.method(), request.uri());
        let answer = api.router.clone().oneshot(request).await.expect("the service answers");
        let (status, headers) = (answer.status(), answer.headers().clone());
        let content_type = headers.get("content-type").map_or("", |it| it.to_str().unwrap_or(""));
        prop_assert!(status.as_u16() < 500 || status.as_u16() == 501, "{}: {}", asked, status);
        if any.token != Some("bob") && !asked.ends_with("/healthz?") {
            let open = asked.contains("/healthz") || asked.contains("/openapi.json");
            prop_assert!(open || status.is_client_error(), "{}: {}", asked, status);
        }
        // A stream of events does not end.
        if content_type.starts_with("text/event-stream") {
            continue;
        }
        let bytes = to_bytes(answer.into_body(), usize::MAX).await.expect("a body");
        let text = String::from_utf8_lossy(&bytes);
        prop_assert!(!text.contains(SECRET), "{}: {}", asked, text);
        if content_type.contains("json") && !bytes.is_empty() {
            let value: Result<Value, _> = serde_json::from_slice(&bytes);
            prop_assert!(value.is_ok(), "{}: {}", asked, text);
            if content_type.contains("problem") {
                prop_assert_eq!(&value.expect("JSON")["status"], status.as_u16(), "{}", asked);
            }
        }
    }
    let kept = api.get("/v1/chats/secret/messages").await;
    prop_assert!(kept.ok().to_string().contains(SECRET), "another user's chat was changed");
    Ok(())
}

/// Few cases, unless `PROPTEST_CASES` says how many: each has a service of its own.
fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => default,
        None => ProptestConfig { cases: 48, ..default },
    }
}

proptest! {
    #![proptest_config(config())]

    /// No request brings an error of the service, reads or changes another user's data, or an
    /// answer in another form than the description says.
    #[test]
    fn no_request_breaks_a_face(requests in vec(any_request(), 1..12)) {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(ask(&requests))?;
    }
}
