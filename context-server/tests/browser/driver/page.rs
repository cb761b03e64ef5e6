//! A page, and what a person can do with it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::link::Link;
use super::watch::Watch;

/// The longest time to wait for a condition.
const PATIENCE: Duration = Duration::from_secs(15);

/// Runs before the scripts of each document: notes what the content security policy refuses.
const BEFORE: &str = "window.refused = [];
addEventListener('securitypolicyviolation', (event) => window.refused.push(`${event.violatedDirective} ${event.blockedURI}`));";

/// The size and the colours of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct View {
    pub(crate) width: u32,
    pub(crate) height: u32,
    pub(crate) dark: bool,
}

impl View {
    pub(crate) const WIDE: Self = Self { width: 1280, height: 800, dark: false };
    pub(crate) const DARK: Self = Self { dark: true, ..Self::WIDE };
    pub(crate) const NARROW: Self = Self { width: 390, height: 844, dark: false };
}

/// A page of a browser.
pub(crate) struct Page {
    link: Arc<Link>,
    context: String,
    target: String,
    session: String,
    origin: String,
    watch: Arc<Watch>,
}

impl Page {
    pub(super) async fn open(link: &Arc<Link>, context: &str, origin: &str, view: View) -> Self {
        let blank = json!({
            "url": "about:blank", "browserContextId": context, "newWindow": true,
            "width": view.width, "height": view.height,
        });
        let target = link.ask(None, "Target.createTarget", blank).await.unwrap();
        let target = target["targetId"].as_str().unwrap().to_owned();
        let attach = json!({"targetId": target, "flatten": true});
        let session = link.ask(None, "Target.attachToTarget", attach).await.unwrap();
        let session = session["sessionId"].as_str().unwrap().to_owned();
        let watch = Arc::new(Watch::new(origin));
        link.watch(&session, Arc::clone(&watch));
        let (link, context, origin) = (Arc::clone(link), context.to_owned(), origin.to_owned());
        let page = Self { link, context, target, session, origin, watch };
        for domain in ["Page", "Runtime", "Log", "Network"] {
            page.ask(&format!("{domain}.enable"), json!({})).await;
        }
        page.ask("Emulation.setFocusEmulationEnabled", json!({"enabled": true})).await;
        page.ask("Emulation.setTimezoneOverride", json!({"timezoneId": "UTC"})).await;
        page.before(BEFORE).await;
        page.view(view).await;
        page
    }

    /// Opens another page that shares cookies and storage with this one.
    pub(crate) async fn beside(&self, view: View) -> Self {
        Self::open(&self.link, &self.context, &self.origin, view).await
    }

    /// Sends a command of the DevTools protocol and returns its result.
    pub(crate) async fn ask(&self, method: &str, params: Value) -> Value {
        self.try_ask(method, params).await.unwrap_or_else(|error| panic!("{error}"))
    }

    async fn try_ask(&self, method: &str, params: Value) -> Result<Value, String> {
        self.link.ask(Some(&self.session), method, params).await
    }

    /// Runs a script before those of each further document.
    pub(crate) async fn before(&self, script: &str) {
        self.ask("Page.addScriptToEvaluateOnNewDocument", json!({"source": script})).await;
    }

    pub(crate) async fn view(&self, view: View) {
        let size = json!({
            "width": view.width, "height": view.height, "deviceScaleFactor": 1, "mobile": false,
        });
        self.ask("Emulation.setDeviceMetricsOverride", size).await;
        let scheme = if view.dark { "dark" } else { "light" };
        let features = json!({"features": [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]});
        self.ask("Emulation.setEmulatedMedia", features).await;
    }

    /// Opens an address and waits until its scripts are ready.
    pub(crate) async fn go(&self, address: &str) {
        let url = if address.starts_with('/') {
            format!("{}{address}", self.origin)
        } else {
            address.to_owned()
        };
        let gone = self.ask("Page.navigate", json!({"url": url})).await;
        assert!(gone["errorText"].is_null(), "{url}: {}", gone["errorText"]);
        self.ready().await;
    }

    /// Waits until the scripts of a page are ready.
    pub(crate) async fn ready(&self) {
        self.wait("document.documentElement?.dataset.ready === 'yes'").await;
    }

    /// Waits until another document is ready than the one that `act` leaves.
    pub(crate) async fn leaving(&self, act: impl Future<Output = ()>) {
        self.eval("document.documentElement.dataset.ready = 'left'").await;
        act.await;
        self.ready().await;
    }

    /// Returns the value of a script, which may be a promise.
    pub(crate) async fn eval(&self, script: &str) -> Value {
        self.try_eval(script).await.unwrap_or_else(|error| panic!("{script}: {error}"))
    }

    async fn try_eval(&self, script: &str) -> Result<Value, String> {
        let params = json!({
            "expression": script, "awaitPromise": true, "returnByValue": true, "userGesture": true,
        });
        let mut answer = self.try_ask("Runtime.evaluate", params).await?;
        match answer.get("exceptionDetails") {
            Some(thrown) => Err(thrown.to_string()),
            None => Ok(answer["result"]["value"].take()),
        }
    }

    /// Waits until a condition holds.
    pub(crate) async fn wait(&self, condition: &str) {
        let begin = Instant::now();
        let script = format!(
            "new Promise((done) => {{ const end = performance.now() + 2000; const look = () => {{
                let is = false; try {{ is = Boolean({condition}); }} catch {{}}
                if (is || performance.now() > end) done(is); else setTimeout(look, 15);
            }}; look(); }})"
        );
        loop {
            // A page that is left ends the script with an error.
            if self.try_eval(&script).await.is_ok_and(|held| held == true) {
                return;
            }
            if begin.elapsed() > PATIENCE {
                let shown = self.eval("`${location.href}\\n${document.body.innerText}`").await;
                let shown: String =
                    shown.as_str().unwrap_or_default().chars().take(2_000).collect();
                let faults = self.watch.faults();
                panic!("never came: {condition}\n{faults:?}\n{shown}");
            }
        }
    }

    /// Waits until a text is seen somewhere in an element.
    pub(crate) async fn sees(&self, selector: &str, text: &str) {
        let (selector, text) = (Value::from(selector), Value::from(text));
        let flat = "replace(/\\s+/g, ' ')";
        self.wait(&format!(
            "document.querySelector({selector})?.innerText.{flat}.includes({text}.{flat})"
        ))
        .await;
    }

    /// Presses keys one after the other: characters, or names such as `Enter`.
    pub(crate) async fn press(&self, keys: &[&str]) {
        for key in keys {
            let (code, number, text) = match *key {
                "Enter" => ("Enter", 13, "\r"),
                "Tab" => ("Tab", 9, ""),
                "Escape" => ("Escape", 27, ""),
                "ArrowUp" => ("ArrowUp", 38, ""),
                "ArrowDown" => ("ArrowDown", 40, ""),
                "Home" => ("Home", 36, ""),
                "End" => ("End", 35, ""),
                other => ("", 0, other),
            };
            let number = match key.as_bytes() {
                [letter] if letter.is_ascii_alphabetic() => letter.to_ascii_uppercase().into(),
                _ => number,
            };
            let event = |kind: &str| {
                let text = if kind == "keyUp" { "" } else { text };
                json!({"type": kind, "key": key, "code": code, "text": text,
                    "windowsVirtualKeyCode": number, "nativeVirtualKeyCode": number})
            };
            self.ask("Input.dispatchKeyEvent", event("keyDown")).await;
            self.ask("Input.dispatchKeyEvent", event("keyUp")).await;
        }
    }

    /// Types a text where the focus is, in place of what is selected.
    pub(crate) async fn write(&self, text: &str) {
        self.ask("Input.insertText", json!({"text": text})).await;
    }

    /// Clicks on the middle of an element, once it is there.
    pub(crate) async fn click(&self, selector: &str) {
        let selector = Value::from(selector);
        self.wait(&format!("document.querySelector({selector})")).await;
        let place = self
            .eval(&format!(
                "(() => {{ const it = document.querySelector({selector});
                it.scrollIntoView({{ block: 'nearest' }});
                const box = it.getBoundingClientRect();
                return [box.x + box.width / 2, box.y + box.height / 2]; }})()"
            ))
            .await;
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({"type": kind, "x": place[0], "y": place[1], "button": "left",
                "clickCount": 1});
            self.ask("Input.dispatchMouseEvent", event).await;
        }
    }

    /// Returns the page as a PNG.
    pub(crate) async fn picture(&self) -> Vec<u8> {
        let taken = self.ask("Page.captureScreenshot", json!({"format": "png"})).await;
        STANDARD.decode(taken["data"].as_str().unwrap()).unwrap()
    }

    /// Returns what no page may do and this one did since the last call.
    pub(crate) async fn faults(&self) -> Vec<String> {
        let refused = self.eval("(window.refused ?? []).splice(0)").await;
        let refused = refused.as_array().into_iter().flatten();
        let mut faults = self.watch.faults();
        faults.extend(refused.map(|it| format!("refused by the content security policy: {it}")));
        faults
    }

    /// Fails if the page did what no page may do.
    pub(crate) async fn is_sound(&self) {
        let faults = self.faults().await;
        assert!(faults.is_empty(), "{faults:#?}");
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.link.forget(&self.session);
        self.link.send(None, "Target.closeTarget", json!({"targetId": self.target}));
    }
}
