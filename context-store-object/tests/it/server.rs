//! The client over real connections: servers that refuse, hang, or hang up.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use context_core::store::{NewBlob, NewChat};
use context_core::{Error, ErrorKind, Result, Retry, Store};
use context_store_object::{ObjectBlobs, ObjectConfig};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::fixture::{at, chat};

/// What a server does with a connection.
#[derive(Clone, Copy, Debug)]
enum Habit {
    /// Answers every request with this status and body.
    Answers(&'static str, &'static str),
    /// Reads and never answers.
    Hangs,
    /// Closes the connection in the middle of an answer.
    HangsUp,
}

/// Starts a server. Returns its address and the number of requests that it has read.
async fn serve(habit: Habit) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, requests) = (listener.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&requests);
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            tokio::spawn(talk(connection, habit, Arc::clone(&counted)));
        }
    });
    (address, requests)
}

async fn talk(mut connection: TcpStream, habit: Habit, requests: Arc<AtomicUsize>) {
    let mut bytes = [0; 1 << 16];
    while connection.read(&mut bytes).await.is_ok_and(|read| read > 0) {
        requests.fetch_add(1, Ordering::Relaxed);
        let answer = match habit {
            Habit::Hangs => continue,
            Habit::HangsUp => "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf".to_owned(),
            Habit::Answers(status, body) => {
                format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
            }
        };
        if connection.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
        if matches!(habit, Habit::HangsUp) {
            return;
        }
    }
}

async fn open(address: SocketAddr) -> Result<ObjectBlobs> {
    let url = format!(
        "s3://box/agents?endpoint=http://{address}&anonymous=true&allow_http=true&region=eu-central-1\
         &retry_timeout_ms=300&request_timeout_ms=200"
    );
    ObjectBlobs::open(ObjectConfig::from_url(&url)?).await
}

async fn refused(habit: Habit) -> (Error, usize) {
    let (address, requests) = serve(habit).await;
    let error = open(address).await.unwrap_err();
    (error, requests.load(Ordering::Relaxed))
}

const SLOW_DOWN: &str = "<Error><Code>SlowDown</Code><Message>Reduce your rate</Message></Error>";

#[tokio::test]
async fn a_server_that_asks_for_less_is_asked_again_and_then_said_to_be_unavailable() {
    let (error, requests) = refused(Habit::Answers("503 Slow Down", SLOW_DOWN)).await;
    assert_eq!((error.kind(), error.retry()), (ErrorKind::Unavailable, Retry::Safe));
    assert!(requests > 1, "asked {requests} times");
}

#[tokio::test]
async fn a_server_that_refuses_the_credentials_is_not_asked_again() {
    let body = "<Error><Code>AccessDenied</Code></Error>";
    let (error, requests) = refused(Habit::Answers("403 Forbidden", body)).await;
    assert_eq!((error.kind(), error.retry()), (ErrorKind::Unavailable, Retry::Never));
    assert_eq!(requests, 1);
}

#[tokio::test]
async fn a_server_that_hangs_is_not_waited_for_forever() {
    let (error, _) = refused(Habit::Hangs).await;
    assert!(matches!(error.kind(), ErrorKind::Timeout | ErrorKind::Unavailable), "{error:?}");
    assert_eq!(error.retry(), Retry::Safe);
}

#[tokio::test]
async fn a_server_that_hangs_up_is_unavailable() {
    let (error, _) = refused(Habit::HangsUp).await;
    assert!(matches!(error.kind(), ErrorKind::Timeout | ErrorKind::Unavailable), "{error:?}");
    assert_eq!(error.retry(), Retry::Safe);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unavailable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let error = open(address).await.unwrap_err();
    assert_eq!((error.kind(), error.retry()), (ErrorKind::Unavailable, Retry::Safe));
}

/// A proxy that cuts every nth connection to a real server, after it has passed the request on: the
/// answer is lost, and the client repeats a request that was carried out.
#[tokio::test]
#[ignore = "needs S3; `cargo xtask test` runs it"]
async fn lost_answers_lose_nothing() {
    let url = context_conformance::server_url("CONTEXT_TEST_S3_URL");
    let (server, bucket) = url.trim_start_matches("http://").split_once('/').unwrap();
    let (server, bucket) = (server.to_owned(), bucket.to_owned());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        for number in 0.. {
            let Ok((client, _)) = listener.accept().await else { return };
            tokio::spawn(pass(client, server.clone(), number % 3 == 1));
        }
    });
    let prefix = format!("lost-answers-{}", std::process::id());
    let url = format!(
        "s3://{bucket}/{prefix}?endpoint=http://{address}&allow_http=true&region=us-east-1"
    );
    let store = ObjectBlobs::open(ObjectConfig::from_url(&url).unwrap()).await.unwrap();
    let blobs = store.blobs().unwrap();
    for i in 0..5 {
        let name = format!("chat-{i}");
        let created = store.history().create_chat(NewChat::new(chat(&name), at(1))).await.unwrap();
        assert!(created.into_new().is_ok(), "a lost answer is no other writer");
        let put = blobs.put_blob(&chat(&name), NewBlob::new("a report", at(10))).await.unwrap();
        let read = blobs.read_blob(&chat(&name), &put.id, 2..8, Some(at(20))).await.unwrap();
        assert_eq!(read.as_deref(), Some(&b"report"[..]));
        assert_eq!(put.references, i + 1);
    }
    let check = store.maintenance().unwrap().check(&context_core::CancelSignal::never()).await;
    assert_eq!(check.unwrap().findings, Vec::new());
}

/// Passes one connection on. One that is cut ends when the first answer begins.
async fn pass(mut client: TcpStream, server: String, cut: bool) {
    let Ok(mut server) = TcpStream::connect(&server).await else { return };
    if !cut {
        let _ended = tokio::io::copy_bidirectional(&mut client, &mut server).await;
        return;
    }
    let (mut from_client, _to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let mut answer = [0; 1];
    tokio::select! {
        _ = tokio::io::copy(&mut from_client, &mut to_server) => {}
        _ = from_server.read(&mut answer) => {}
    }
}
