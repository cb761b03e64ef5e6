//! One client: what it asks, and what it was promised.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::connection::Connection;

/// The chats of a client alone.
const OWN: u64 = 4;
/// The chats of all clients.
const SHARED: u64 = 8;
/// The times that a request is sent before the client gives up.
const ATTEMPTS: usize = 60;
/// The wait before the same server is asked again.
const PAUSE: Duration = Duration::from_millis(20);
const WORDS: [&str; 16] = [
    "ticket", "river", "compile", "window", "lantern", "harbour", "message", "orange", "branch",
    "signal", "garden", "packet", "winter", "engine", "ladder", "copper",
];

pub(crate) struct Client {
    number: usize,
    /// The state of its random numbers, the same in each run.
    random: u64,
    appends: u64,
    /// Its connections by server. A request first goes to the server of the client, as a proxy
    /// sends it that keeps the requests of a client together.
    connections: Vec<Option<Connection>>,
    /// The keys of acknowledged appends by chat, in the order of their answers.
    pub(crate) acknowledged: BTreeMap<String, Vec<String>>,
    /// The requests that were sent again.
    pub(crate) repeated: u64,
    /// Requests that were refused, or never answered.
    pub(crate) failed: Vec<String>,
}

/// An answered request.
pub(crate) struct Answered {
    pub(crate) is_append: bool,
    pub(crate) time: Duration,
}

impl Client {
    pub(crate) fn new(number: usize) -> Self {
        Self {
            number,
            random: (number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15),
            appends: 0,
            connections: Vec::new(),
            acknowledged: BTreeMap::new(),
            repeated: 0,
            failed: Vec::new(),
        }
    }

    /// Asks until the time is over: four appends for each page, one of ten to a shared chat.
    pub(crate) async fn run(&mut self, addresses: &[String], until: Instant) -> Vec<Answered> {
        // A server ends connections that were idle since the last round.
        self.connections = addresses.iter().map(|_| None).collect();
        let mut answered = Vec::new();
        while Instant::now() < until {
            let begun = Instant::now();
            let is_append = self.below(10) < 8;
            let (shared, own) = (self.below(SHARED), self.below(OWN));
            let chat = match self.below(10) {
                0 => format!("shared-{shared}"),
                _ => format!("own-{}-{own}", self.number),
            };
            match is_append {
                true => self.append(addresses, &chat).await,
                false => self.page(addresses, &chat).await,
            }
            answered.push(Answered { is_append, time: begun.elapsed() });
        }
        answered
    }

    async fn append(&mut self, addresses: &[String], chat: &str) {
        self.appends += 1;
        let key = format!("k{}-{}", self.number, self.appends);
        let [(_, question), (_, answer)] = messages(&key);
        let body = json!({"messages": [
            {"role": "user", "text": question},
            {"role": "assistant", "text": answer},
        ]});
        let path = format!("/v1/chats/{chat}/messages");
        let status = self.ask(addresses, &path, Some((&key, &body.to_string()))).await;
        match status {
            Some(200) => self.acknowledged.entry(chat.to_owned()).or_default().push(key),
            _ => self.failed.push(format!("{key} ({status:?})")),
        }
    }

    async fn page(&mut self, addresses: &[String], chat: &str) {
        let path = format!("/v1/chats/{chat}/messages?limit=20");
        // A chat may not have been written to yet.
        if !matches!(self.ask(addresses, &path, None).await, Some(200 | 404)) {
            self.failed.push(path);
        }
    }

    /// Sends a request until it is answered, to the other server after each failure.
    async fn ask(
        &mut self,
        addresses: &[String],
        path: &str,
        write: Option<(&str, &str)>,
    ) -> Option<u16> {
        for attempt in 0..ATTEMPTS {
            if attempt >= addresses.len() {
                tokio::time::sleep(PAUSE).await;
            }
            let server = (self.number + attempt) % addresses.len();
            // Put back if it is still good.
            let connection = match self.connections[server].take() {
                Some(connection) => Ok(connection),
                None => Connection::open(&addresses[server]).await,
            };
            if let Ok(mut connection) = connection
                && let Ok((status, _)) = connection.ask(path, write).await
            {
                self.connections[server] = Some(connection);
                if status < 500 {
                    return Some(status);
                }
            }
            self.repeated += 1;
        }
        None
    }

    /// Returns a random number below another one (xorshift).
    fn below(&mut self, number: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % number
    }
}

/// Returns the messages that are appended under a key: the ids that the service gives them, and
/// texts of some 200 bytes that begin with the id.
pub(crate) fn messages(key: &str) -> [(String, String); 2] {
    [1, 2].map(|number| {
        let id = format!("{key}-{number}");
        let seed = id
            .bytes()
            .fold(7, |sum: usize, byte| sum.wrapping_mul(31).wrapping_add(usize::from(byte)));
        let words: Vec<_> = (0..28).map(|at| WORDS[(seed >> (at % 24)) % WORDS.len()]).collect();
        let text = format!("{id} {}", words.join(" "));
        (id, text)
    })
}
