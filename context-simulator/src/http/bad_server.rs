//! Misbehaving servers.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{fmt, io};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::port::Port;

/// The misbehaviour of a [`BadServer`], on every request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misbehaviour {
    /// Never accepts a connection. Only the operating system completes the handshake.
    NeverAccepts,
    /// Reads the request and closes the connection.
    Closes,
    /// Reads the request and never replies.
    Silent,
    /// Sends headers without end.
    EndlessHead,
    /// Sends a JSON body one byte at a time, with this pause before each byte.
    SlowBody(Duration),
    /// Refuses with this status, and stops in the middle of the error body.
    SilentRefusal(u16),
    /// Begins a stream of events and sends none.
    SilentStream,
    /// Sends a body without end.
    EndlessBody,
    /// Sends a stream of comments without end, and no event.
    EndlessComments,
    /// Sends a single event line without end.
    EndlessLine,
    /// Claims a content length of a petabyte.
    HugeLength,
    /// Sends a compressed body, whether or not the client accepts one.
    Compressed,
    /// Closes in the middle of a JSON body.
    BreaksOff,
    /// Sends these events, and closes in the middle of the next one.
    BreaksOffBehind(Vec<String>),
    /// Sends bytes that are not HTTP.
    Garbage,
    /// Sends chunks whose sizes are not numbers.
    BadChunks,
    /// Redirects to this address.
    Redirects(String),
    /// Refuses with a 401 that repeats the key of the request: in the reason phrase, in headers,
    /// and in a JSON body.
    EchoesKey,
    /// Refuses with a 429 whose `retry-after` does not fit 64 bits.
    WaitsForever,
    /// Sends this reply to every request.
    Says {
        /// The HTTP status.
        status: u16,
        /// The content type of the body.
        content_type: String,
        /// The body.
        body: String,
    },
    /// Behaves like the next of these on each connection, and like the last one from then on.
    InTurn(Vec<Misbehaviour>),
}

impl Misbehaviour {
    /// Replies with this status and body, as JSON.
    pub fn says(status: u16, body: impl Into<String>) -> Self {
        Self::Says { status, content_type: "application/json".to_owned(), body: body.into() }
    }
}

/// A misbehaving server. Dropping it closes the port and every connection.
pub struct BadServer {
    port: Port,
    requests: Arc<Mutex<Vec<String>>>,
}

impl BadServer {
    /// Listens on a free port of 127.0.0.1 and misbehaves as given.
    ///
    /// # Errors
    ///
    /// If the server cannot listen on a port.
    pub async fn start(bad: Misbehaviour) -> io::Result<Self> {
        let requests = Arc::<Mutex<Vec<String>>>::default();
        if bad == Misbehaviour::NeverAccepts {
            return Ok(Self { port: Port::closed().await?, requests });
        }
        let log = Arc::clone(&requests);
        let bad = Arc::new(bad);
        let port =
            Port::open(move |stream| serve(stream, Arc::clone(&bad), Arc::clone(&log))).await?;
        Ok(Self { port, requests })
    }

    /// Returns the base URL, such as `http://127.0.0.1:40123`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// Returns the address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.port.address()
    }

    /// Returns the requests so far, heads and bodies as they arrived.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl fmt::Debug for BadServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("BadServer");
        shown.field("port", &self.port).field("requests", &self.requests().len()).finish()
    }
}

async fn serve(mut stream: TcpStream, bad: Arc<Misbehaviour>, requests: Arc<Mutex<Vec<String>>>) {
    let request = read_request(&mut stream).await;
    let number = {
        let mut requests = requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.push(request.clone());
        requests.len() - 1
    };
    let mut bad = &*bad;
    while let Misbehaviour::InTurn(turns) = bad {
        let Some(next) = turns.get(number).or(turns.last()) else { return };
        bad = next;
    }
    // An error means that the client is gone.
    let _ = behave(&mut stream, bad, &request).await;
    let _ = stream.shutdown().await;
}

const JSON: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
const EVENTS: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";
const CHUNKED: &str = "transfer-encoding: chunked\r\n\r\n";

async fn behave(stream: &mut TcpStream, bad: &Misbehaviour, request: &str) -> io::Result<()> {
    let spaces = format!("1000\r\n{}\r\n", " ".repeat(0x1000));
    match bad {
        Misbehaviour::Closes | Misbehaviour::NeverAccepts | Misbehaviour::InTurn(_) => Ok(()),
        Misbehaviour::Silent => std::future::pending().await,
        Misbehaviour::EndlessHead => {
            stream.write_all(JSON.as_bytes()).await?;
            endless(stream, &format!("x-more: {}\r\n", "x".repeat(4_000))).await
        }
        Misbehaviour::SlowBody(pause) => {
            send(stream, JSON, "content-length: 1000\r\n\r\n").await?;
            loop {
                tokio::time::sleep(*pause).await;
                stream.write_all(b" ").await?;
            }
        }
        Misbehaviour::SilentRefusal(status) => {
            let head = format!("HTTP/1.1 {status} No\r\ncontent-type: application/json\r\n");
            send(stream, &head, "content-length: 1000\r\n\r\n{\"error\": {\"message\": \"bec")
                .await?;
            std::future::pending().await
        }
        Misbehaviour::SilentStream => {
            send(stream, EVENTS, CHUNKED).await?;
            std::future::pending().await
        }
        Misbehaviour::EndlessBody => {
            send(stream, JSON, CHUNKED).await?;
            endless(stream, &spaces).await
        }
        Misbehaviour::EndlessComments => {
            send(stream, EVENTS, CHUNKED).await?;
            endless(stream, &"8\r\n: ping\n\n\r\n".repeat(500)).await
        }
        Misbehaviour::EndlessLine => {
            send(stream, EVENTS, &format!("{CHUNKED}5\r\ndata:\r\n")).await?;
            endless(stream, &spaces).await
        }
        Misbehaviour::HugeLength => {
            send(stream, JSON, "content-length: 1000000000000000\r\n\r\n{").await?;
            std::future::pending().await
        }
        Misbehaviour::Compressed => {
            send(stream, JSON, "content-encoding: gzip\r\ncontent-length: 4\r\n\r\n\u{1f}...").await
        }
        Misbehaviour::BreaksOff => {
            send(stream, JSON, "content-length: 1000\r\n\r\n{\"choices\": [{\"mess").await
        }
        Misbehaviour::BreaksOffBehind(events) => {
            let events: String = events.iter().map(|data| format!("data: {data}\n\n")).collect();
            send(stream, EVENTS, &format!("content-length: 1000000\r\n\r\n{events}data: {{\"cho"))
                .await
        }
        Misbehaviour::Garbage => send(stream, "\u{1}\u{2}\u{3} what is this\n\n", "").await,
        Misbehaviour::BadChunks => {
            send(stream, JSON, &format!("{CHUNKED}zz\r\n{{}}\r\n0\r\n\r\n")).await
        }
        Misbehaviour::Redirects(to) => {
            send(
                stream,
                "HTTP/1.1 307 Elsewhere\r\n",
                &format!("location: {to}\r\ncontent-length: 0\r\n\r\n"),
            )
            .await
        }
        Misbehaviour::EchoesKey => {
            let key = key(request);
            let quoted =
                serde_json::Value::from(format!("{key} is wrong; the key {key}, \"{key}\""))
                    .to_string();
            let body =
                format!(r#"{{"error":{{"message":{quoted},"code":{quoted},"type":"{key}"}}}}"#);
            let head = format!("HTTP/1.1 401 {key}\r\nx-request-id: {key}\r\nx-key: {key}\r\n");
            send(stream, &head, &with_length("application/json", &body)).await
        }
        Misbehaviour::WaitsForever => {
            let head = "HTTP/1.1 429 Later\r\nretry-after: 99999999999999999999\r\n";
            send(stream, head, &with_length("application/json", "{}")).await
        }
        Misbehaviour::Says { status, content_type, body } => {
            send(stream, &format!("HTTP/1.1 {status} Reply\r\n"), &with_length(content_type, body))
                .await
        }
    }
}

async fn send(stream: &mut TcpStream, head: &str, rest: &str) -> io::Result<()> {
    stream.write_all(format!("{head}{rest}").as_bytes()).await
}

async fn endless(stream: &mut TcpStream, piece: &str) -> io::Result<()> {
    loop {
        stream.write_all(piece.as_bytes()).await?;
        tokio::task::yield_now().await;
    }
}

fn with_length(content_type: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "content-type: {content_type}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

/// Returns the key in the headers of a request.
fn key(request: &str) -> String {
    let header = |line: &str| {
        let (name, value) = line.split_once(':')?;
        let is_key = ["authorization", "x-api-key"].contains(&name.to_ascii_lowercase().as_str());
        is_key.then(|| value.trim().trim_start_matches("Bearer ").to_owned())
    };
    request.lines().find_map(header).unwrap_or_default()
}

/// Reads head and body of a request that has a content length.
async fn read_request(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut piece = vec![0; 16 << 10];
    loop {
        // An error means that the client is gone. The request is what arrived until then.
        let read = stream.read(&mut piece).await.unwrap_or_default();
        bytes.extend_from_slice(&piece[..read]);
        if read == 0 || is_whole(&bytes) {
            return String::from_utf8_lossy(&bytes).into_owned();
        }
    }
}

fn is_whole(bytes: &[u8]) -> bool {
    let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { return false };
    let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    let length = length.and_then(|length| length.trim().parse::<usize>().ok()).unwrap_or_default();
    bytes.len() - end - 4 >= length
}
