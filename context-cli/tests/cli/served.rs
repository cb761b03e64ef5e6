//! A `context serve` that runs beside the test.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::harness::{Bench, context, values};

/// A running service.
pub(crate) struct Served {
    child: Child,
    pub(crate) address: String,
    pub(crate) token: Option<String>,
}

impl Served {
    pub(crate) fn start(bench: &Bench, args: &[&str], token: Option<&str>) -> Self {
        let args: Vec<_> = ["--json", "serve"].iter().chain(args).copied().collect();
        let mut child = context(bench.path(), &args).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let record = values(&line).remove(0);
        let address = record["url"].as_str().unwrap().strip_prefix("http://").unwrap();
        Self { child, address: address.to_owned(), token: token.map(ToOwned::to_owned) }
    }

    /// Returns the status and the body of an answer.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let token = self.token.as_deref();
        let header = token.map(|it| format!("authorization: Bearer {it}\r\n"));
        send(&self.address, method, path, &header.unwrap_or_default(), body).unwrap()
    }

    pub(crate) fn end(mut self, signal: Signal) -> Option<i32> {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
        self.child.wait().unwrap().code()
    }
}

impl Drop for Served {
    /// A test that fails leaves nothing running.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends one request. Returns the status and the body of its answer, or `None` if the whole answer
/// did not come.
pub(crate) fn send(
    address: &str,
    method: &str,
    path: &str,
    header: &str,
    body: &Value,
) -> Option<(u16, Value)> {
    let mut stream = TcpStream::connect(address).ok()?;
    let body = body.to_string();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\n{header}content-type: application/json\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len(),
    )
    .ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some((status, serde_json::from_str(body).unwrap_or_default()))
}

/// Returns the body that appends one message.
pub(crate) fn say(text: &str) -> Value {
    json!({"messages": [{"role": "user", "text": text}]})
}
