//! Events of a page that no page of the inspector may cause.

use std::sync::Mutex;

use serde_json::Value;

/// The faults of a page: dialogs, errors, requests to other places.
pub(super) struct Watch {
    origin: String,
    faults: Mutex<Vec<String>>,
}

impl Watch {
    pub(super) fn new(origin: &str) -> Self {
        Self { origin: origin.to_owned(), faults: Mutex::default() }
    }

    pub(super) fn event(&self, method: &str, params: &Value) {
        let fault = match method {
            "Page.javascriptDialogOpening" => format!("a dialog opened: {}", params["message"]),
            "Runtime.exceptionThrown" => format!("exception: {}", params["exceptionDetails"]),
            "Runtime.consoleAPICalled" if params["type"] == "error" => {
                format!("console: {}", params["args"])
            }
            "Log.entryAdded" if params["entry"]["level"] == "error" => {
                format!("log: {} {}", params["entry"]["text"], params["entry"]["url"])
            }
            "Page.windowOpen" => format!("a window opened: {}", params["url"]),
            "Page.downloadWillBegin" => format!("a download began: {}", params["url"]),
            "Network.requestWillBeSent" => {
                let url = params["request"]["url"].as_str().unwrap_or_default();
                if url.starts_with("data:") || url.starts_with(&self.origin) {
                    return;
                }
                format!("a request left the server: {url}")
            }
            _ => return,
        };
        self.faults.lock().unwrap().push(fault);
    }

    /// Returns the faults since the last call.
    pub(super) fn faults(&self) -> Vec<String> {
        std::mem::take(&mut self.faults.lock().unwrap())
    }
}
