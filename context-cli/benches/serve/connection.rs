//! A kept connection to one server.
//!
//! The clients share the processors with the servers, so they do no more than HTTP/1.1 asks of
//! them.

use std::io::{self, ErrorKind};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// The longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Connection {
    address: String,
    stream: BufReader<TcpStream>,
}

impl Connection {
    pub(crate) async fn open(address: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { address: address.to_owned(), stream: BufReader::new(stream) })
    }

    /// Reads a path, or writes a body to it under a key. Returns the status and the body of the
    /// answer. If it fails, the server may have done it or not.
    pub(crate) async fn ask(
        &mut self,
        path: &str,
        write: Option<(&str, &str)>,
    ) -> io::Result<(u16, Vec<u8>)> {
        let host = &self.address;
        let request = match write {
            Some((key, body)) => format!(
                "POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
                 idempotency-key: {key}\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            ),
            None => format!("GET {path} HTTP/1.1\r\nhost: {host}\r\n\r\n"),
        };
        tokio::time::timeout(PATIENCE, self.exchange(&request)).await?
    }

    async fn exchange(&mut self, request: &str) -> io::Result<(u16, Vec<u8>)> {
        self.stream.write_all(request.as_bytes()).await?;
        let status = self.line().await?.split(' ').nth(1).and_then(|status| status.parse().ok());
        let mut length = 0;
        loop {
            let line = self.line().await?;
            let Some((name, value)) = line.split_once(": ") else { break };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.parse().map_err(|_| ErrorKind::InvalidData)?;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).await?;
        Ok((status.ok_or(ErrorKind::InvalidData)?, body))
    }

    /// Returns the next line of a head, without its end.
    async fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        match self.stream.read_line(&mut line).await? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            _ => Ok(line.trim_end().to_owned()),
        }
    }
}
