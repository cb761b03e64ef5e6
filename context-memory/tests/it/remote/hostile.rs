//! Servers that lie, disconnect and hang: none of their content is shown.

use std::error::Error as _;

use context_core::memory::{MemoryForget, MemoryScope, RecallQuery};
use context_core::{Error, ErrorKind, MemoryProvider, Retry};
use context_http::{ClientOptions, HttpError, Retries};
use context_memory::remote::{RemoteError, RemoteMemory};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::{ada, never, turn};

/// Reads a request and sends the prepared reply. Without a reply it keeps the connection open.
struct ScriptedServer {
    address: String,
    task: JoinHandle<()>,
}

impl ScriptedServer {
    async fn start(reply: Option<Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let task = tokio::spawn(async move {
            let mut held = Vec::new();
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                if let Some(reply) = &reply {
                    let mut heard = Vec::new();
                    while !is_whole(&heard) && stream.read_buf(&mut heard).await.unwrap_or(0) > 0 {}
                    stream.write_all(reply).await.ok();
                    stream.shutdown().await.ok();
                }
                held.push(stream);
            }
        });
        Self { address, task }
    }
}

fn is_whole(heard: &[u8]) -> bool {
    let text = String::from_utf8_lossy(heard);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length =
        head.to_lowercase().split_once("content-length: ").map(|(_, rest)| rest.to_owned());
    let length = length.and_then(|rest| rest.split("\r\n").next()?.parse::<usize>().ok());
    body.len() >= length.unwrap_or(0)
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn http(status: &str, body: &str) -> Option<Vec<u8>> {
    Some(
        format!(
            "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        )
        .into_bytes(),
    )
}

async fn recall(reply: Option<Vec<u8>>) -> Result<usize, Error> {
    let says = ScriptedServer::start(reply).await;
    let memory =
        RemoteMemory::at(&says.address, ClientOptions::default().retries(Retries::none())).unwrap();
    memory
        .recall(&RecallQuery::new(ada(), "hush"), &never())
        .await
        .map(|recalled| recalled.memories.len())
}

fn memory(more: Value) -> Value {
    let mut memory =
        json!({"kind": "note", "scope": {"user": "ada"}, "score": 1.0, "text": "hush"});
    for (key, value) in more.as_object().unwrap() {
        memory[key] = value.clone();
    }
    memory
}

fn ok(scope: Value, memories: Vec<Value>) -> Option<Vec<u8>> {
    http(
        "200 OK",
        &json!({"memories": memories, "scope": scope, "of a later version": 1}).to_string(),
    )
}

fn cause(error: &Error) -> &RemoteError {
    error.source().unwrap().downcast_ref().unwrap()
}

fn scope() -> Value {
    json!({"project": "p", "session": "s", "user": "ada"})
}

#[tokio::test]
async fn a_good_answer_is_used_with_what_it_does_not_say() {
    assert_eq!(
        recall(ok(scope(), vec![memory(json!({})), memory(json!({"scope": scope()}))]))
            .await
            .unwrap(),
        2
    );
    let nulls = json!({"at": null, "id": null, "source": null, "speaker": null});
    assert_eq!(recall(ok(scope(), vec![memory(nulls)])).await.unwrap(), 1);
}

#[tokio::test]
async fn an_answer_for_another_scope_is_refused() {
    let others = [
        json!({"user": "bob", "project": "p", "session": "s"}),
        json!({"user": "ada"}),
        json!({"user": "ada", "project": "p", "session": "t"}),
        json!({"user": "ada", "project": "p", "session": "s", "agent": "a"}),
    ];
    for other in others {
        let refused = recall(ok(other, Vec::new())).await.unwrap_err();
        assert_eq!((refused.kind(), refused.retry()), (ErrorKind::Corrupt, Retry::Never));
        assert!(matches!(cause(&refused), RemoteError::OtherScope));
    }
    // A scope with an unknown field may be any scope.
    let refused =
        recall(ok(json!({"user": "ada", "project": "p", "session": "s", "team": "x"}), Vec::new()))
            .await;
    assert!(matches!(cause(&refused.unwrap_err()), RemoteError::Http(HttpError::NotJson { .. })));
}

#[tokio::test]
async fn one_memory_of_another_scope_spoils_the_answer() {
    let strange = [
        json!({"user": "bob"}),
        json!({"user": "ada", "project": "q"}),
        json!({"user": "ada", "agent": "a"}),
        json!({"user": "ada", "session": "t"}),
    ];
    for strange in strange {
        let memories = vec![memory(json!({})), memory(json!({"scope": strange}))];
        let refused = recall(ok(scope(), memories)).await.unwrap_err();
        assert!(matches!(cause(&refused), RemoteError::NotVisible { number: 1 }));
        assert!(!format!("{refused} {refused:?}").contains("hush"));
    }
}

#[tokio::test]
async fn what_is_no_memory_is_refused() {
    let long = "x".repeat(300 << 10);
    for bad in [
        json!({"kind": ""}),
        json!({"id": ""}),
        json!({"speaker": "x".repeat(600)}),
        json!({"source": {"session": ""}}),
        json!({"text": long}),
    ] {
        let refused = recall(ok(scope(), vec![memory(bad)])).await.unwrap_err();
        assert!(matches!(cause(&refused), RemoteError::BadMemory { number: 0, .. }));
    }
    let many = vec![memory(json!({})); 1_001];
    let refused = recall(ok(scope(), many)).await.unwrap_err();
    assert!(matches!(cause(&refused), RemoteError::TooMany { count: 1_001, limit: 1_000 }));
}

#[tokio::test]
async fn what_is_not_the_protocol_is_refused() {
    let without_scope =
        json!({"memories": [{"kind": "note", "text": "hush"}], "scope": scope()}).to_string();
    for body in [
        "",
        "hush",
        "[]",
        "{}",
        r#"{"scope": {"user": "ada"}}"#,
        &without_scope,
        &"[".repeat(10_000),
    ] {
        let refused = recall(http("200 OK", body)).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Corrupt, "{body:.40}");
        assert!(!format!("{refused} {refused:?}").contains("hush"));
    }
    let too_long = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", 100 << 20);
    let refused = recall(Some(too_long.into_bytes())).await.unwrap_err();
    assert!(matches!(cause(&refused), RemoteError::Http(HttpError::TooLong { .. })));
    let broken = b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{\"scope\"".to_vec();
    for broken in [broken, Vec::new(), b"SSH-2.0\r\n".to_vec()] {
        assert_eq!(recall(Some(broken)).await.unwrap_err().kind(), ErrorKind::Unavailable);
    }
}

#[tokio::test]
async fn a_refusal_is_of_the_kind_that_the_server_says() {
    let said = |kind: &str| json!({"error": {"kind": kind, "message": "hush"}}).to_string();
    for (status, body, kind, retry) in [
        ("500 Oops", String::new(), ErrorKind::Unavailable, Retry::Safe),
        ("500 Oops", said("corrupt"), ErrorKind::Corrupt, Retry::Safe),
        ("503 Later", said("unavailable"), ErrorKind::Unavailable, Retry::Safe),
        ("429 Slower", "hush".to_owned(), ErrorKind::Unavailable, Retry::Safe),
        ("401 No", said("cancelled"), ErrorKind::Unavailable, Retry::Never),
        ("400 No", String::new(), ErrorKind::Invalid, Retry::Never),
        ("422 No", said("unsupported"), ErrorKind::Unsupported, Retry::Never),
        ("404 No", "<html>".to_owned(), ErrorKind::Unsupported, Retry::Never),
        ("413 No", String::new(), ErrorKind::Invalid, Retry::Never),
    ] {
        let refused = recall(http(status, &body)).await.unwrap_err();
        assert_eq!((refused.kind(), refused.retry()), (kind, retry), "{status}");
        assert_eq!(refused.get("status"), Some(&status[..3]));
        assert!(!format!("{refused} {refused:?}").contains("hush"));
    }
    let elsewhere =
        b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1/\r\ncontent-length: 0\r\n\r\n".to_vec();
    assert_eq!(recall(Some(elsewhere)).await.unwrap_err().kind(), ErrorKind::Unavailable);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_is_given_up() {
    assert_eq!(recall(None).await.unwrap_err().kind(), ErrorKind::Timeout);
}

#[tokio::test]
async fn other_calls_check_the_scope_as_well() {
    let other = json!({"scope": {"user": "bob"}, "removed": 1, "remaining": 0}).to_string();
    let says = ScriptedServer::start(http("200 OK", &other)).await;
    let memory =
        RemoteMemory::at(&says.address, ClientOptions::default().retries(Retries::none())).unwrap();
    let refused = memory.capture(&turn(Vec::new()), &never()).await.unwrap_err();
    assert!(matches!(cause(&refused), RemoteError::OtherScope));
    let refused = memory.forget(&MemoryForget::Scope(MemoryScope::new("ada"))).await.unwrap_err();
    assert!(matches!(cause(&refused), RemoteError::OtherScope));
    memory.flush(&never()).await.unwrap();

    let newer = json!({"name": "n", "protocol": 2}).to_string();
    let says = ScriptedServer::start(http("200 OK", &newer)).await;
    let memory = RemoteMemory::at(&says.address, ClientOptions::default()).unwrap();
    let refused = memory.info(&never()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported);
    assert!(matches!(cause(&refused), RemoteError::OtherProtocol { version: 2 }));
}
