//! Sending traces to a collector over HTTP.

use std::time::Duration;

use context_core::Retry;
use context_core::trajectory::{AgentRef, NewNode, NewQuery, NodeBody, Round};
use context_trajectory::SessionGraph;
use context_trajectory_export::otlp::{Collector, OtlpOptions, SendError, Sent};
use opentelemetry_proto::tonic::trace::v1::TracesData;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::scene::{at, of_rounds, session};

/// Returns a session of a round of many actions.
fn long(actions: usize) -> SessionGraph {
    let agent = AgentRef::main("anna", "a long session");
    let mut round = Round::new(agent.round(0), at(0));
    let (query, _) = round.ask(NewQuery::new("Which of them?"), at(0)).unwrap();
    for number in 0..actions {
        let call = NodeBody::action("run_sql", serde_json::json!({ "number": number }));
        round.add(NewNode::new(call, [query]).append(), at(1)).unwrap();
    }
    of_rounds([vec![round]])
}

/// The head of a request, and its number of spans.
type Request = (String, usize);

/// Starts a server that gives each connection one answer, in order, and returns the requests.
async fn server(answers: Vec<String>) -> (String, JoinHandle<Vec<Request>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let task = tokio::spawn(async move {
        let mut requests = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            let (mut bytes, mut chunk) = (Vec::new(), [0; 65536]);
            let body = loop {
                let read = stream.read(&mut chunk).await.unwrap();
                assert_ne!(read, 0);
                bytes.extend_from_slice(&chunk[..read]);
                let text = String::from_utf8_lossy(&bytes);
                let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
                let length =
                    head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
                if body.len() == length.parse::<usize>().unwrap() {
                    break (head.to_owned(), body.to_owned());
                }
            };
            let data: TracesData = serde_json::from_str(&body.1).unwrap();
            requests.push((body.0, data.resource_spans[0].scope_spans[0].spans.len()));
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
        requests
    });
    (address, task)
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\n{headers}connection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

async fn sent(answers: Vec<String>) -> (Result<Sent, SendError>, Vec<Request>) {
    let (address, requests) = server(answers).await;
    let collector = Collector::new(&address).unwrap().header("x-key", "a secret");
    let sent = collector.send(&session(), &OtlpOptions::default()).await;
    (sent, requests.await.unwrap())
}

#[tokio::test]
async fn a_collector_takes_all_spans() {
    let (result, requests) = sent(vec![answer("200 OK", "", "{}")]).await;
    let result = result.unwrap();
    let (head, spans) = &requests[0];
    assert!(head.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{head}");
    assert!(
        head.contains("content-type: application/json") && head.contains("x-key: a secret"),
        "{head}"
    );
    assert_eq!((result.spans, result.rejected, result.message), (*spans, 0, None));
}

#[tokio::test]
async fn what_a_collector_rejects_is_told() {
    let partial = r#"{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}}"#;
    let (result, _) = sent(vec![answer("200 OK", "", partial)]).await;
    let result = result.unwrap();
    assert_eq!((result.rejected, result.message.as_deref()), (2, Some("too old")));
    let (result, _) = sent(vec![answer("200 OK", "", &partial.replace("\"2\"", "3"))]).await;
    assert_eq!(result.unwrap().rejected, 3);
    let (result, _) = sent(vec![answer("200 OK", "", "no JSON")]).await;
    assert_eq!(result.unwrap().rejected, 0);
}

#[tokio::test]
async fn a_refusal_says_whether_to_send_again() {
    for (status, retry) in [
        ("429 Too Many Requests", Retry::Safe),
        ("503 Service Unavailable", Retry::Safe),
        ("502 Bad Gateway", Retry::Safe),
        ("400 Bad Request", Retry::Never),
        ("401 Unauthorized", Retry::Never),
        ("500 Internal Server Error", Retry::Never),
        ("302 Found", Retry::Never),
    ] {
        let headers = "retry-after: 7\r\nlocation: http://127.0.0.1:1/\r\n";
        let (result, _) = sent(vec![answer(status, headers, "")]).await;
        let error = result.unwrap_err();
        assert_eq!(error.retry(), retry, "{status}");
        let SendError::Refused { status: code, retry_after } = error else { panic!("{error:?}") };
        assert!(status.starts_with(&code.to_string()));
        assert_eq!(retry_after, Some(Duration::from_secs(7)));
    }
}

#[tokio::test]
async fn a_long_session_goes_in_parts() {
    let ok = answer("200 OK", "", r#"{"partialSuccess":{"rejectedSpans":"1"}}"#);
    let (address, requests) = server(vec![ok.clone(), ok]).await;
    let collector = Collector::new(&format!("{address}/v1/traces")).unwrap();
    let result = collector.send(&long(1000), &OtlpOptions::default()).await.unwrap();
    let requests = requests.await.unwrap();
    assert!(
        requests.iter().all(|(head, spans)| head.starts_with("POST /v1/traces ") && *spans <= 512)
    );
    assert_eq!(requests.iter().map(|(_, spans)| spans).sum::<usize>(), result.spans);
    assert_eq!(result.rejected, 2);
}

/// Addresses and headers contain keys. Neither appears in an error, its source, or `Debug`.
#[tokio::test]
async fn no_error_shows_a_secret() {
    let unused = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = unused.local_addr().unwrap();
    drop(unused);
    let collector = Collector::new(&format!("http://me:hush@{address}/hush?key=hush")).unwrap();
    let collector = collector.header("x-key", "hush");
    assert!(!format!("{collector:?}").contains("hush"));
    let error = collector.send(&session(), &OtlpOptions::default()).await.unwrap_err();
    assert_eq!(error.retry(), Retry::Safe);
    assert!(
        matches!(error, SendError::Unreachable(_))
            && !format!("{error:?} {error}").contains("hush"),
        "{error:?}"
    );
    for bad in ["no address hush", "ftp://hush/"] {
        let error = Collector::new(bad).unwrap_err();
        assert!(
            matches!(error, SendError::BadEndpoint)
                && !format!("{error:?} {error}").contains("hush")
        );
    }
    let collector =
        Collector::new("http://localhost").unwrap().header("fine", "1").header("x", "hu\nsh");
    let error = collector.send(&session(), &OtlpOptions::default()).await.unwrap_err();
    assert!(matches!(error, SendError::BadHeader { number: 1 }), "{error:?}");
}

/// A collector that accepts the connection and never answers.
#[tokio::test]
async fn a_silent_collector_is_given_up() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", silent.local_addr().unwrap());
    let collector = Collector::new(&address).unwrap().timeout(Duration::from_millis(50));
    let error = collector.send(&session(), &OtlpOptions::default()).await.unwrap_err();
    assert!(matches!(error, SendError::Timeout), "{error:?}");
    assert_eq!(error.retry(), Retry::Safe);
}
