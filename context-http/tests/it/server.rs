//! A server with prepared replies.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Answers each connection with the next of its texts, the last one for all further connections,
/// and closes the connection.
pub(crate) struct Server {
    pub(crate) url: String,
    heard: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Server {
    pub(crate) async fn start(replies: impl IntoIterator<Item = impl Into<Vec<u8>>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let replies: Vec<Vec<u8>> = replies.into_iter().map(Into::into).collect();
        let heard = Arc::<Mutex<Vec<String>>>::default();
        let log = Arc::clone(&heard);
        let task = tokio::spawn(async move {
            for number in 0.. {
                let (mut stream, _) = listener.accept().await.unwrap();
                let request = request(&mut stream).await;
                log.lock().unwrap().push(request);
                let reply = &replies[number.min(replies.len() - 1)];
                // The client may have disconnected.
                let _ = stream.write_all(reply).await;
                let _ = stream.shutdown().await;
            }
        });
        Self { url, heard, task }
    }

    /// Returns the requests, head and body.
    pub(crate) fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Reads head and body of a request that has a content length.
async fn request(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        let mut piece = [0; 4096];
        let read = stream.read(&mut piece).await.unwrap_or(0);
        bytes.extend_from_slice(&piece[..read]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length =
                head.to_lowercase().split_once("content-length: ").map_or(0, |(_, rest)| {
                    rest.lines().next().unwrap_or_default().trim().parse().unwrap_or(0)
                });
            if body.len() >= length {
                return text;
            }
        }
        if read == 0 {
            return text;
        }
    }
}

/// Returns a reply with a body whose length is stated, and a few more headers, each ended by a line
/// end.
pub(crate) fn reply(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}
