//! Requests, retries and refusals.

use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use context_core::CancelSignal;
use context_core::base::CancelSource;
use context_http::{
    Client, ClientOptions, HttpError, Pauses, Phase, Proxy, Request, Retries, TooLong,
};
use serde_json::{Value, json};

use crate::server::{Server, reply};

const KEY: &str = "q9/\"key-of-a-test";

/// Does not wait, and records the waits.
#[derive(Clone, Debug, Default)]
struct Noted(Arc<Mutex<Vec<Duration>>>);

impl Pauses for Noted {
    fn pause(&self, length: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        self.0.lock().unwrap().push(length);
        Box::pin(std::future::ready(()))
    }
}

fn never() -> CancelSignal {
    CancelSignal::never()
}

/// Returns everything that an error shows, including its causes.
fn shown(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = format!("{error} {error:?} {error:#?}");
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(&format!(" {cause} {cause:?}"));
        next = cause.source();
    }
    text
}

/// Sends a request to a server with these replies. Returns the result, the waits, and how often the
/// server was called.
async fn ask(
    request: Request,
    replies: &[String],
    options: ClientOptions,
) -> (Result<Value, HttpError>, Vec<Duration>, usize) {
    let server = Server::start(replies.iter().cloned()).await;
    let noted = Noted::default();
    let client = Client::new(&server.url, options.pauses(Arc::new(noted.clone()))).unwrap();
    let reply = client.send(&request, &never()).await.and_then(|reply| reply.json());
    let waits = noted.0.lock().unwrap().clone();
    (reply, waits, server.heard().len())
}

fn ok() -> String {
    reply("200 OK", "", r#"{"ok":true}"#)
}

fn error<T: Debug>(result: (Result<T, HttpError>, Vec<Duration>, usize)) -> HttpError {
    result.0.unwrap_err()
}

#[tokio::test]
async fn a_request_goes_out_as_it_was_made() {
    let server = Server::start([ok()]).await;
    let options = ClientOptions::default().bearer(KEY).header("x-team", "blue");
    let client = Client::new(&format!("{}?api-version=2", server.url), options).unwrap();
    let request = Request::post("things/more")
        .segment("a/b c")
        .query("q", "x&y")
        .header("x-one", "1")
        .json(&json!({"a": 1}))
        .unwrap();
    let reply = client.send(&request, &never()).await.unwrap();
    assert_eq!((reply.status, reply.text()), (200, r#"{"ok":true}"#.to_owned()));
    let heard = server.heard().remove(0);
    assert!(
        heard.starts_with("POST /v1/things/more/a%2Fb%20c?api-version=2&q=x%26y HTTP/1.1\r\n"),
        "{heard}"
    );
    for line in [
        &format!("authorization: Bearer {KEY}"),
        "x-team: blue",
        "x-one: 1",
        "content-type: application/json",
        "accept: application/json",
        "user-agent: context/",
    ] {
        assert!(heard.contains(line), "{line} in {heard}");
    }
    assert!(heard.ends_with("\r\n\r\n{\"a\":1}"), "{heard}");
    assert!(!heard.contains("accept-encoding"), "{heard}");
}

#[tokio::test]
async fn a_path_cannot_climb() {
    let client = Client::new("http://localhost:1/v1/x", ClientOptions::default()).unwrap();
    for request in
        [Request::get("a/../b"), Request::get("a").segment(".."), Request::get("a").segment("")]
    {
        assert!(matches!(client.send(&request, &never()).await, Err(HttpError::BadPath)));
    }
}

#[test]
fn addresses_that_give_keys_away_are_refused() {
    let of = |address: &str| {
        Client::new(address, ClientOptions::default()).map(|client| client.address())
    };
    for address in [
        "http://localhost:11434/v1",
        "http://127.0.0.2",
        "http://[::1]:8080/",
        "https://a.example/v1",
    ] {
        assert!(of(address).is_ok(), "{address}");
    }
    for address in ["http://a.example", "http://10.0.0.5:8000/v1", "http://localhost.example"] {
        assert!(matches!(of(address), Err(HttpError::PlainHttp { .. })), "{address}");
        assert!(
            Client::new(address, ClientOptions::default().allow_plain_http(true)).is_ok(),
            "{address}"
        );
    }
    for address in
        ["", "a.example", "ftp://a.example", "https://user:secret99@a.example", "https://"]
    {
        let refused = of(address).unwrap_err();
        assert!(matches!(refused, HttpError::BadAddress { .. }), "{address}");
        assert!(!shown(&refused).contains("secret99"));
    }
    assert_eq!(of("https://a.example/v1?key=secret99").unwrap(), "https://a.example/v1");
}

#[test]
fn options_that_are_none_of_http_are_told_without_their_values() {
    for options in [
        ClientOptions::default().header("x-a", "1").secret_header("x-b", "bad\nvalue-secret99"),
        ClientOptions::default().header("x-a", "1").header("secret99 bad", "1"),
    ] {
        let refused = Client::new("https://a.example", options).unwrap_err();
        assert!(matches!(refused, HttpError::BadHeader { number: 1 }));
        assert!(!shown(&refused).contains("secret99"));
    }
    let options = ClientOptions::default().proxy(Proxy::at("http://user:secret99@:::"));
    let refused = Client::new("https://a.example", options).unwrap_err();
    assert!(matches!(refused, HttpError::BadProxy));
    assert!(!shown(&refused).contains("secret99"));
}

#[tokio::test]
async fn what_is_refused_for_now_is_asked_again_and_nothing_else() {
    let post = || Request::post("x").repeatable(false);
    for (status, any, repeatable) in [
        ("400 Bad Request", 1, 1),
        ("401 Unauthorized", 1, 1),
        ("408 Request Timeout", 3, 3),
        ("409 Conflict", 1, 1),
        ("425 Too Early", 3, 3),
        ("429 Too Many Requests", 3, 3),
        ("500 Internal Server Error", 1, 3),
        ("502 Bad Gateway", 1, 3),
        ("503 Service Unavailable", 1, 3),
        ("504 Gateway Timeout", 1, 3),
        ("529 Overloaded", 3, 3),
    ] {
        let no = [reply(status, "", "no")];
        let (result, _, asked) = ask(post(), &no, ClientOptions::default()).await;
        assert_eq!(
            (result.unwrap_err().status().unwrap().to_string().as_str(), asked),
            (&status[..3], any)
        );
        let (_, _, asked) = ask(post().repeatable(true), &no, ClientOptions::default()).await;
        assert_eq!(asked, repeatable, "{status}");
    }
    let waits = reply("503 Service Unavailable", "retry-after: 1\r\n", "no");
    assert_eq!(ask(post(), &[waits], ClientOptions::default()).await.2, 3);
    for (advice, status, asked) in
        [("false", "429 Too Many Requests", 1), ("true", "500 Internal Server Error", 1)]
    {
        let no = reply(status, &format!("x-should-retry: {advice}\r\n"), "no");
        assert_eq!(ask(post(), &[no], ClientOptions::default()).await.2, asked);
    }
    let advised = reply("418 I'm a Teapot", "x-should-retry: true\r\n", "no");
    assert_eq!(ask(post().repeatable(true), &[advised], ClientOptions::default()).await.2, 3);
}

#[tokio::test]
async fn waits_double_unless_the_service_asks_for_others() {
    let busy = |headers| reply("429 Too Many Requests", headers, "no");
    let retries = ClientOptions::default().retries(Retries::at_most(3));
    let millis = |list: [u64; 3]| list.map(Duration::from_millis).to_vec();

    let (result, waits, asked) =
        ask(Request::get("x"), &[busy(""), busy(""), busy(""), ok()], retries.clone()).await;
    assert_eq!(
        (result.unwrap(), waits, asked),
        (json!({"ok": true}), millis([500, 1_000, 2_000]), 4)
    );

    let asked = [
        busy("retry-after: 7\r\n"),
        busy("retry-after-ms: 20\r\n"),
        busy("retry-after: 0\r\n"),
        ok(),
    ];
    let (result, waits, _) = ask(Request::get("x"), &asked, retries.clone()).await;
    assert_eq!((result.is_ok(), waits), (true, millis([7_000, 20, 2_000])));
}

#[tokio::test]
async fn a_service_that_asks_for_too_long_is_left_alone() {
    for headers in ["retry-after: 31\r\n", "retry-after: 99999999999999999999\r\n"] {
        let (result, waits, asked) =
            ask(Request::get("x"), &[reply("429 No", headers, ""), ok()], ClientOptions::default())
                .await;
        assert!(result.unwrap_err().retry_after() > Some(Duration::from_secs(30)));
        assert_eq!((waits, asked), (vec![], 1));
    }
    // A wait longer than the limit of all waits, or than the rest of the call, is not made.
    let slow = [reply("429 No", "retry-after: 25\r\n", "")];
    let many = ClientOptions::default().retries(Retries::at_most(9));
    assert_eq!(ask(Request::get("x"), &slow, many.clone()).await.1.len(), 2);
    let short = many.total_timeout(Duration::from_secs(20));
    assert_eq!(ask(Request::get("x"), &slow, short).await.1.len(), 0);
}

#[tokio::test]
async fn a_lost_reply_is_asked_for_again_only_where_that_does_no_harm() {
    let lost = || vec![String::new(), ok()];
    let half = || vec!["HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{".to_owned(), ok()];
    for replies in [lost(), half()] {
        let (result, _, asked) = ask(Request::post("x"), &replies, ClientOptions::default()).await;
        assert!(matches!(result, Err(HttpError::Broken { .. })));
        assert_eq!(asked, 1);
        for request in [Request::get("x"), Request::post("x").repeatable(true)] {
            let (result, _, asked) = ask(request, &replies, ClientOptions::default()).await;
            assert_eq!((result.is_ok(), asked), (true, 2));
        }
    }
    // Without a listener, the request had no effect.
    let noted = Noted::default();
    let client =
        Client::new("http://127.0.0.1:9", ClientOptions::default().pauses(Arc::new(noted.clone())));
    let result = client.unwrap().send(&Request::post("x"), &never()).await;
    assert!(matches!(result, Err(HttpError::Unreachable { .. })));
    assert_eq!(noted.0.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn replies_are_read_up_to_the_limit() {
    let small = || ClientOptions::default().max_reply_bytes(8).retries(Retries::none());
    let announced = reply("200 OK", "", "123456789");
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n12345\r\n5\r\n67890\r\n0\r\n\r\n";
    for text in [announced, chunked.to_owned(), "HTTP/1.1 200 OK\r\n\r\n123456789".to_owned()] {
        let result = error(ask(Request::get("x"), &[text], small()).await);
        assert!(
            matches!(result, HttpError::TooLong { part: TooLong::Reply, limit: 8, .. }),
            "{result:?}"
        );
    }
    let (result, ..) = ask(Request::get("x"), &[reply("200 OK", "", "12345678")], small()).await;
    assert_eq!(result.unwrap(), json!(12_345_678));
}

#[tokio::test]
async fn what_says_no_is_handed_over_redacted_and_cut() {
    let body =
        format!(r#"{{"error":"you sent {} and sk-abc123456789"}}"#, KEY.replace('"', "\\\""));
    let options = ClientOptions::default().bearer(KEY);
    let refused = error(
        ask(Request::get("x"), &[reply("401 No", "x-request-id: r-1\r\n", &body)], options.clone())
            .await,
    );
    let HttpError::Refused(refused) = refused else { panic!("{refused:?}") };
    assert_eq!(refused.body, r#"{"error":"you sent … and sk-…"}"#);
    assert_eq!((refused.request_id.as_deref(), refused.is_cut), (Some("r-1"), false));

    // Half a key is removed as well.
    for cut in 1..40 {
        let body = format!("{}{KEY}{}", "x".repeat(20), "y".repeat(200));
        let options = options.clone().max_error_bytes(cut);
        let refused = error(ask(Request::get("x"), &[reply("401 No", "", &body)], options).await);
        let HttpError::Refused(refused) = refused else { panic!("{refused:?}") };
        assert!(refused.is_cut && refused.body.len() <= cut, "{}", refused.body);
        assert!(!refused.body.contains("q9"), "{}", refused.body);
    }
}

#[tokio::test]
async fn redirections_are_not_followed() {
    let elsewhere = Server::start([ok()]).await;
    for status in ["301 Moved", "302 Found", "307 Temporary", "308 Permanent"] {
        let there = reply(status, &format!("location: {}/x\r\n", elsewhere.url), "");
        let options = ClientOptions::default().bearer(KEY);
        let result = error(ask(Request::get("x"), &[there], options).await);
        assert!(matches!(result, HttpError::Redirected { .. }), "{result:?}");
    }
    assert_eq!(elsewhere.heard().len(), 0);
}

#[tokio::test]
async fn compressed_replies_are_refused() {
    let packed = reply("200 OK", "content-encoding: gzip\r\n", "\u{1f}\u{8b}...");
    let result = error(ask(Request::get("x"), &[packed], ClientOptions::default()).await);
    assert!(matches!(result, HttpError::Compressed { .. }), "{result:?}");
    let plain = reply("200 OK", "content-encoding: identity\r\n", "1");
    assert!(ask(Request::get("x"), &[plain], ClientOptions::default()).await.0.is_ok());
}

#[tokio::test]
async fn what_is_no_json_is_told_without_its_content() {
    let page = reply("200 OK", "content-type: text/html\r\n", "<html>hush</html>");
    let result = error(ask(Request::get("x"), &[page], ClientOptions::default()).await);
    assert!(matches!(result, HttpError::NotJson { line: 1, column: 1, .. }), "{result:?}");
    assert!(!shown(&result).contains("hush"));
}

#[tokio::test]
async fn an_error_shows_no_key_and_no_query() {
    let server =
        Server::start([reply("500 No", "", KEY), String::new(), "garbage".to_owned()]).await;
    let options = ClientOptions::default().bearer(KEY).retries(Retries::none());
    let address = format!("{}?key=secret99", server.url);
    let client = Client::new(&address, options).unwrap();
    let mut text = format!("{client:?}{client:#?}");
    for _ in 0..3 {
        let request = Request::get("x").query("q", "secret99").header("x-a", "secret99");
        let error = client.send(&request, &never()).await.unwrap_err();
        text.push_str(&format!("{request:?}"));
        text.push_str(&shown(&error));
    }
    assert!(!text.contains("secret99") && !text.contains("q9/"), "{text}");
    assert!(text.contains("/v1/x"));
}

#[tokio::test]
async fn events_come_one_by_one_and_a_break_is_an_error() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n";
    let good = format!("{head}\r\ndata: 1\n\n: ping\n\nevent: b\ndata: 2\n\n");
    let cut = format!("{head}content-length: 99\r\n\r\ndata: 1\n\nda");
    let long = format!("{head}\r\ndata: 1\n\ndata: {}", "x".repeat(100));
    let server = Server::start([good, cut, long]).await;
    let client = Client::new(&server.url, ClientOptions::default().max_event_bytes(50)).unwrap();
    let request = Request::post("x").for_events();
    let mut ends = Vec::new();
    for _ in 0..3 {
        let incoming = client.open(&request, &never()).await.unwrap();
        assert!(incoming.is_events());
        let mut events = incoming.events();
        let mut data = Vec::new();
        let end = loop {
            match events.next(&never()).await {
                Ok(Some(event)) => data.push(event.data),
                Ok(None) => break Ok(data),
                Err(error) => break Err((data, error)),
            }
        };
        assert_eq!(events.next(&never()).await.unwrap(), None);
        ends.push(end);
    }
    assert_eq!(ends.remove(0).unwrap(), ["1", "2"]);
    let (data, error) = ends.remove(0).unwrap_err();
    assert_eq!(data, ["1"]);
    assert!(matches!(error, HttpError::Broken { .. }), "{error:?}");
    let (data, error) = ends.remove(0).unwrap_err();
    assert_eq!(data, ["1"]);
    assert!(
        matches!(error, HttpError::TooLong { part: TooLong::Event, limit: 50, .. }),
        "{error:?}"
    );
    assert!(server.heard()[0].contains("accept: text/event-stream"));
}

#[tokio::test]
async fn a_raised_signal_ends_every_wait() {
    let raised = CancelSource::new();
    raised.cancel();
    let server = Server::start([ok()]).await;
    let client = Client::new(&server.url, ClientOptions::default()).unwrap();
    let result = client.send(&Request::get("x"), &raised.signal()).await;
    assert!(matches!(result, Err(HttpError::Cancelled)));
    assert_eq!(server.heard().len(), 0);

    // In the wait before a retry, which would be long.
    let busy = Server::start([reply("429 No", "retry-after: 29\r\n", "")]).await;
    let source = CancelSource::new();
    #[derive(Debug)]
    struct Cancels(CancelSource);
    impl Pauses for Cancels {
        fn pause(&self, _: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
            self.0.cancel();
            Box::pin(std::future::pending())
        }
    }
    let options = ClientOptions::default().pauses(Arc::new(Cancels(source.clone())));
    let client = Client::new(&busy.url, options).unwrap();
    let result = client.send(&Request::get("x"), &source.signal()).await;
    assert!(matches!(result, Err(HttpError::Cancelled)));
}

#[tokio::test]
async fn every_phase_has_its_limit() {
    let short = Duration::from_millis(30);
    let options = || ClientOptions::default().retries(Retries::none());
    // The system accepts the connection, and no reply follows.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", silent.local_addr().unwrap());
    for (options, phase) in [
        (options().head_timeout(short), Phase::Head),
        (options().total_timeout(short), Phase::Total),
    ] {
        let client = Client::new(&address, options).unwrap();
        match client.send(&Request::get("x"), &never()).await {
            Err(HttpError::Timeout { phase: found, longest, .. }) => {
                assert_eq!((found, longest), (phase, short))
            }
            other => panic!("{other:?}"),
        }
    }
    // A TLS handshake is part of the connection. Without trusted certificates there is no TLS
    // client.
    let options = options().connect_timeout(short).proxy(Proxy::none());
    let Ok(client) = Client::new(&address.replace("http:", "https:"), options) else { return };
    match client.send(&Request::get("x"), &never()).await {
        Err(HttpError::Timeout { phase, longest, .. }) => {
            assert_eq!((phase, longest), (Phase::Connect, short))
        }
        other => panic!("{other:?}"),
    }
}
