//! A service on a port: slow clients, and the end.

use std::time::Duration;

use context_server::{Operations, Service, ServiceLimits};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

struct Running {
    address: std::net::SocketAddr,
    stop: oneshot::Sender<()>,
    served: JoinHandle<std::io::Result<()>>,
}

impl Running {
    async fn start(change: impl FnOnce(&mut ServiceLimits)) -> Self {
        let store = context_runtime::open("mem:").await.unwrap();
        let mut limits = ServiceLimits::default();
        change(&mut limits);
        let service = Service::new(Operations::new(store)).limits(limits);
        let bound = service.bind("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let (stop, stopped) = oneshot::channel();
        let address = bound.address();
        let served = tokio::spawn(bound.serve(async move { drop(stopped.await) }));
        Self { address, stop, served }
    }

    /// Sends bytes on a connection of its own.
    async fn send(&self, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        stream
    }
}

async fn rest(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    // A connection that is cut has said what it had to say.
    let _ = stream.read_to_end(&mut text).await;
    String::from_utf8_lossy(&text).into_owned()
}

fn post(length: usize) -> String {
    format!(
        "POST /v1/chats/a/messages HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    )
}

const SAY: &str = r#"{"messages": [{"role": "user", "text": "Hi."}]}"#;

#[tokio::test]
async fn headers_and_bodies_that_do_not_come_are_not_waited_for() {
    let running = Running::start(|limits| limits.slowness = Duration::from_millis(200)).await;
    let mut headers = running.send("GET /healthz HTTP/1.1\r\nhost: local").await;
    let mut body = running.send(&format!("{}{{\"mess", post(500))).await;
    assert!(!rest(&mut headers).await.contains("200 OK"));
    let said = rest(&mut body).await;
    assert!(said.starts_with("HTTP/1.1 4"), "{said}");
    let mut good = running.send(&format!("{}{SAY}", post(SAY.len()))).await;
    assert!(rest(&mut good).await.starts_with("HTTP/1.1 200"));
}

#[tokio::test]
async fn a_request_that_has_begun_is_finished_and_events_end() {
    let running = Running::start(|_| {}).await;
    let mut write = running.send(&format!("{}{SAY}", post(SAY.len()))).await;
    assert!(rest(&mut write).await.starts_with("HTTP/1.1 200"));
    let follow = "GET /v1/chats/a/events HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let mut events = running.send(follow).await;
    let mut some = [0; 64];
    assert!(events.read(&mut some).await.unwrap() > 0);
    // Half of a request is there when the service is stopped.
    let mut half = running.send(&format!("{}{}", post(SAY.len()), &SAY[..10])).await;
    let asked = "GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    assert!(rest(&mut running.send(asked).await).await.ends_with("ok"), "both are being read");
    running.stop.send(()).unwrap();
    assert!(rest(&mut events).await.ends_with("0\r\n\r\n"), "the events end in order");
    half.write_all(&SAY.as_bytes()[10..]).await.unwrap();
    let said = rest(&mut half).await;
    assert!(said.starts_with("HTTP/1.1 200") && said.contains("\"replayed\":false"), "{said}");
    running.served.await.unwrap().unwrap();
    assert!(TcpStream::connect(running.address).await.is_err(), "nobody listens any more");
}

#[tokio::test]
async fn a_request_that_never_ends_does_not_hold_the_service_back() {
    let running = Running::start(|limits| limits.grace = Duration::from_millis(100)).await;
    let mut half = running.send(&post(500)).await;
    let asked = "GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    rest(&mut running.send(asked).await).await;
    running.stop.send(()).unwrap();
    running.served.await.unwrap().unwrap();
    assert_eq!(rest(&mut half).await, "", "it is cut off");
}

#[tokio::test]
async fn connections_over_the_bound_wait_for_their_turn() {
    let running = Running::start(|limits| limits.connections = 1).await;
    let first = running.send("GET /healthz HTTP/1.1\r\nhost: localhost\r\n").await;
    let asked = "GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let mut second = running.send(asked).await;
    drop(first);
    assert!(rest(&mut second).await.ends_with("ok"));
}
