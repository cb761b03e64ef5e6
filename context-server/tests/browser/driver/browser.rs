//! A browser without a window.

use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::json;
use tempfile::TempDir;

use super::link::Link;
use super::page::{Page, View};

/// The command line that installs a browser.
pub(crate) const INSTALL: &str = "apt-get install chromium";

/// Arguments that keep the browser to the pages of this machine.
const ARGUMENTS: [&str; 14] = [
    "--remote-debugging-pipe",
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--metrics-recording-only",
    "--force-color-profile=srgb",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
];

/// A running browser. It ends with its value.
pub(crate) struct Browser {
    link: Arc<Link>,
    child: Mutex<Child>,
    _profile: TempDir,
}

impl Browser {
    /// Returns the program: the one that `CONTEXT_TEST_CHROMIUM` names, or one with a usual name.
    pub(crate) fn program() -> Option<String> {
        let named = std::env::var("CONTEXT_TEST_CHROMIUM").ok().filter(|name| !name.is_empty());
        let usual = ["chromium", "chromium-browser", "google-chrome", "chromium-headless-shell"];
        named.into_iter().chain(usual.map(String::from)).find(|program| {
            let mut probe = Command::new(program);
            let probe = probe.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
            probe.status().is_ok_and(|status| status.success())
        })
    }

    pub(crate) fn start(program: &str) -> Self {
        let profile = tempfile::tempdir().unwrap();
        let mut child = Command::new("sh")
            .args(["-c", r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null"#, program])
            .args(ARGUMENTS)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let link = Link::new(child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { link, child: Mutex::new(child), _profile: profile }
    }

    /// Opens an empty page with storage and cookies of its own. Requests to another origin are
    /// faults.
    pub(crate) async fn page(&self, origin: &str, view: View) -> Page {
        let context = self.link.ask(None, "Target.createBrowserContext", json!({})).await.unwrap();
        let context = context["browserContextId"].as_str().unwrap().to_owned();
        Page::open(&self.link, &context, origin, view).await
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.link.send(None, "Browser.close", json!({}));
        let _ended = self.child.lock().unwrap().wait();
    }
}
