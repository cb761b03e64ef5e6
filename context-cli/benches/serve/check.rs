//! Reads everything back through the API and compares it with what was promised.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;

use crate::client::{Client, messages};
use crate::connection::Connection;

/// The violations that are shown.
const SHOWN: usize = 5;

#[derive(Deserialize)]
struct Page {
    messages: Vec<Message>,
    earlier: Option<String>,
}

#[derive(Deserialize)]
struct Message {
    id: String,
    body: Body,
}

#[derive(Deserialize)]
struct Body {
    parts: [Part; 1],
}

#[derive(Deserialize)]
struct Part {
    text: String,
}

/// The findings.
#[derive(Default)]
pub(crate) struct Report {
    appends: usize,
    messages: usize,
    violations: Vec<String>,
}

impl Report {
    pub(crate) fn is_correct(&self) -> bool {
        self.violations.is_empty()
    }

    /// Compares a chat with the keys of each client, in the order in which they were acknowledged.
    ///
    /// Each append is sent until it is acknowledged, so the chat has exactly these.
    fn compare(&mut self, chat: &str, stored: &[(String, String)], promised: &[&[String]]) {
        self.appends += promised.iter().map(|keys| keys.len()).sum::<usize>();
        self.messages += stored.len();
        // In a shared chat, others may have written between two appends of a client, but not
        // within one. So pairs are compared, by the client in the key: `k7-12-1` is of `k7`.
        let mut found = BTreeMap::<&str, Vec<&[(String, String)]>>::new();
        for pair in stored.chunks(2) {
            let client = pair[0].0.split('-').next().unwrap_or_default();
            found.entry(client).or_default().push(pair);
        }
        for keys in promised {
            let client = keys[0].split('-').next().unwrap_or_default();
            let pairs = found.remove(client).unwrap_or_default();
            if pairs.len() != keys.len() {
                let text = format!("{chat}: {} of {} appends of {client}", pairs.len(), keys.len());
                self.violations.push(text);
            }
            let differs = pairs.iter().zip(*keys).find(|(pair, key)| pair[..] != messages(key)[..]);
            if let Some((pair, key)) = differs {
                self.violations.push(format!("{chat}: {} instead of {key}-1", pair[0].0));
            }
        }
        self.violations.extend(found.keys().map(|client| format!("{chat}: messages of {client}")));
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { appends, messages, violations } = self;
        write!(f, "{appends} acknowledged appends and {messages} messages read back, ")?;
        match violations.len() {
            0 => write!(f, "nothing lost, doubled or out of order"),
            n => write!(f, "{n} VIOLATIONS: {}", violations[..n.min(SHOWN)].join("; ")),
        }
    }
}

/// Reads the chats of all clients back, each through one of the servers.
pub(crate) async fn read_back(clients: &[Client], addresses: &[String]) -> Report {
    let mut report = Report::default();
    let mut promised = BTreeMap::<&str, Vec<&[String]>>::new();
    for client in clients {
        for (chat, keys) in &client.acknowledged {
            promised.entry(chat).or_default().push(keys);
        }
        report.violations.extend(client.failed.iter().map(|what| format!("{what} failed")));
    }
    let mut servers = Vec::new();
    for address in addresses {
        servers.push(Connection::open(address).await.unwrap());
    }
    for (at, (chat, keys)) in promised.into_iter().enumerate() {
        let server = at % servers.len();
        report.compare(chat, &read(&mut servers[server], chat).await, &keys);
    }
    report
}

/// Returns the ids and texts of a chat, oldest first.
async fn read(server: &mut Connection, chat: &str) -> Vec<(String, String)> {
    let mut newest_first = Vec::new();
    let mut before = String::new();
    loop {
        let path = format!("/v1/chats/{chat}/messages?limit=1000{before}");
        let (status, body) = server.ask(&path, None).await.unwrap();
        assert_eq!(status, 200, "{path}: {}", String::from_utf8_lossy(&body));
        let page: Page = serde_json::from_slice(&body).unwrap();
        let of = |Message { id, body: Body { parts: [part] } }| (id, part.text);
        newest_first.extend(page.messages.into_iter().rev().map(of));
        match page.earlier {
            Some(earlier) => before = format!("&before={earlier}"),
            None => break,
        }
    }
    newest_first.reverse();
    newest_first
}
