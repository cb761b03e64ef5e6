//! `context ui` as a process of its own.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

/// A running server. It ends with its value.
pub(crate) struct Server {
    child: Child,
    /// The first address, with the token.
    pub(crate) url: String,
    /// The origin of all pages.
    pub(crate) origin: String,
}

impl Server {
    pub(crate) fn start(store: &str) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_context"))
            .args(["ui", "--no-open", "--json", "--user", "ada", "--store", store])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let record: serde_json::Value = serde_json::from_str(&line).unwrap();
        let url = record["url"].as_str().unwrap().to_owned();
        let origin = format!("http://127.0.0.1:{}", record["port"]);
        Self { child, url, origin }
    }

    /// Returns the resident memory in bytes, where the system tells it.
    pub(crate) fn memory(&self) -> Option<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        Some(line.split_whitespace().next()?.parse::<f64>().ok()? * 1024.0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _ended = self.child.wait();
    }
}
