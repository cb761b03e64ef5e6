//! Commands to the browser, and its answers and events.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::watch::Watch;

/// The longest time that a command may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The two pipes of a browser.
pub(super) struct Link {
    to: Mutex<ChildStdin>,
    number: AtomicU64,
    waiting: Mutex<HashMap<u64, oneshot::Sender<Value>>>,
    pages: Mutex<HashMap<String, Arc<Watch>>>,
}

impl Link {
    /// Creates the link. A thread reads until the browser ends.
    pub(super) fn new(to: ChildStdin, from: ChildStdout) -> Arc<Self> {
        let link = Arc::new(Self {
            to: Mutex::new(to),
            number: AtomicU64::new(1),
            waiting: Mutex::default(),
            pages: Mutex::default(),
        });
        let reader = Arc::downgrade(&link);
        std::thread::spawn(move || {
            let mut from = BufReader::new(from);
            let mut bytes = Vec::new();
            while from.read_until(0, &mut bytes).is_ok_and(|length| length > 0) {
                let Some(link) = reader.upgrade() else { return };
                let message = bytes.strip_suffix(&[0]).unwrap_or(&bytes);
                link.take(serde_json::from_slice(message).unwrap());
                bytes.clear();
            }
            // Commands that wait get no answer any more.
            if let Some(link) = reader.upgrade() {
                link.waiting.lock().unwrap().clear();
            }
        });
        link
    }

    fn take(&self, mut message: Value) {
        if let Some(number) = message["id"].as_u64() {
            if let Some(waiting) = self.waiting.lock().unwrap().remove(&number) {
                let _gone = waiting.send(message);
            }
            return;
        }
        let Some(session) = message["sessionId"].as_str() else { return };
        let Some(watch) = self.pages.lock().unwrap().get(session).cloned() else { return };
        // A dialog stops the page, and whoever waits for it.
        if message["method"] == "Page.javascriptDialogOpening" {
            let session = session.to_owned();
            self.send(Some(&session), "Page.handleJavaScriptDialog", json!({"accept": true}));
        }
        let method = message["method"].as_str().unwrap_or_default().to_owned();
        watch.event(&method, &message["params"].take());
    }

    /// Passes the events of a page to this watch.
    pub(super) fn watch(&self, session: &str, watch: Arc<Watch>) {
        self.pages.lock().unwrap().insert(session.to_owned(), watch);
    }

    pub(super) fn forget(&self, session: &str) {
        self.pages.lock().unwrap().remove(session);
    }

    /// Sends a command and does not wait for its answer.
    pub(super) fn send(&self, session: Option<&str>, method: &str, params: Value) -> u64 {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        self.write(number, session, method, params);
        number
    }

    fn write(&self, number: u64, session: Option<&str>, method: &str, params: Value) {
        let mut command = json!({"id": number, "method": method, "params": params});
        if let Some(session) = session {
            command["sessionId"] = session.into();
        }
        let mut bytes = serde_json::to_vec(&command).unwrap();
        bytes.push(0);
        // A browser that has ended is reported where its answer is awaited.
        let _ended = self.to.lock().unwrap().write_all(&bytes);
    }

    /// Sends a command and returns its result, or the browser's message.
    pub(super) async fn ask(
        &self,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> Result<Value, String> {
        let (answered, answer) = oneshot::channel();
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        self.waiting.lock().unwrap().insert(number, answered);
        self.write(number, session, method, params);
        let answer = tokio::time::timeout(PATIENCE, answer).await;
        let mut answer = answer
            .map_err(|_| format!("{method}: no answer for {} s", PATIENCE.as_secs()))?
            .map_err(|_| format!("{method}: the browser has ended"))?;
        match answer.get("error") {
            Some(error) => Err(format!("{method}: {error}")),
            None => Ok(answer["result"].take()),
        }
    }
}
