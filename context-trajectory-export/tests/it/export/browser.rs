//! Opens the page from a file in a browser and operates it.
//!
//! `CONTEXT_TEST_CHROMIUM` names the browser. Without it, common names are tried. If there is no
//! browser, the test reports that and proves nothing. `CONTEXT_TEST_SCREENSHOTS` names a folder for
//! screenshots.

#![allow(clippy::print_stdout, reason = "a test that is not run says so")]

use std::path::Path;
use std::process::{Command, Stdio};

use context_trajectory::AgentNode;

use super::html::{large, page};
use super::scene::session;

/// Operates the page like a person, and writes the results into the title.
const PERSON: &str = r##"
<script>
const errors = [];
addEventListener("error", (event) => errors.push(event.message));
addEventListener("securitypolicyviolation", (event) => errors.push("refused: " + event.blockedURI));
addEventListener("load", async () => {
  const wait = () => new Promise((done) => setTimeout(done, 300));
  const all = (selector) => [...document.querySelectorAll(selector)];
  const press = (key) => (document.activeElement ?? document.body).dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  const title = () => document.querySelector("#details h2")?.textContent;
  const seen = {};
  try {
    seen.nodes = all("g.node").length;
    const action = all("g.node.action").find((group) => group.textContent.includes("run_sql"));
    action.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    seen.details = !document.getElementById("details").hidden && title().startsWith("Action");
    seen.text = document.getElementById("details").textContent;
    const chosen = title();
    press("ArrowDown");
    seen.moved = title() !== chosen;
    press("ArrowUp");
    seen.back = title() === chosen;
    press("Escape");
    seen.closed = document.getElementById("details").hidden;
    press("/");
    seen.focus = document.activeElement.id;
    const box = document.getElementById("search");
    box.value = PERSON_SEARCH;
    box.dispatchEvent(new Event("input", { bubbles: true }));
    await wait();
    seen.hits = all("g.node.hit").length;
    press("Enter");
    seen.found = title();
    press("Escape");
    seen.cleared = all("g.node.hit").length;
    press("Escape");
    const visible = () => all("g.node").filter((group) => getComputedStyle(group).display !== "none").length;
    document.getElementById("hide").click();
    seen.without_dead = visible();
    document.getElementById("hide").click();
    seen.with_dead = visible();
    const before = document.getElementById("world").getAttribute("transform");
    document.getElementById("in").click();
    seen.zoomed = document.getElementById("world").getAttribute("transform") !== before;
    seen.fetched = performance.getEntriesByType("resource").length;
    seen.pressed = all("g.node[aria-pressed=true]").length;
    seen.named = all("g.node").every((group) => group.getAttribute("aria-label"));
  } catch (error) {
    errors.push(String(error.stack ?? error));
  }
  seen.errors = errors;
  document.title = JSON.stringify(seen);
});
</script>
"##;

/// Selects an action and searches, for a screenshot.
const CHOICE: &str = r#"
<script>
addEventListener("load", () => {
  const action = [...document.querySelectorAll("g.node.action")].find((group) => group.textContent.includes("run_sql"));
  action.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  document.getElementById("search").value = "north";
  document.getElementById("search").dispatchEvent(new Event("input", { bubbles: true }));
});
</script>
"#;

fn browser() -> Option<String> {
    let named = std::env::var("CONTEXT_TEST_CHROMIUM").ok();
    let usual = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];
    let found = named.into_iter().chain(usual.map(String::from)).find(|program| {
        let mut probe = Command::new(program);
        let probe = probe.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        probe.status().is_ok_and(|status| status.success())
    });
    if found.is_none() {
        println!("SKIPPED: no Chromium is there, nothing is proved");
    }
    found
}

fn open(browser: &str, folder: &Path, page: &Path, arguments: &[&str]) -> (String, String) {
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--enable-logging=stderr",
        ])
        .args(["--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=20000"])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .args(arguments)
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (text(output.stdout), text(output.stderr))
}

fn work_with(name: &str, page: &str, search: &str) -> Option<serde_json::Value> {
    let browser = browser()?;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session.html");
    if let Ok(pictures) = std::env::var("CONTEXT_TEST_SCREENSHOTS") {
        let dark = page.replace("(prefers-color-scheme: dark)", "all");
        let chosen = page.replacen("</head>", &format!("{CHOICE}</head>"), 1);
        for (what, page) in [("", page), ("-dark", &*dark), ("-details", &*chosen)] {
            std::fs::write(&path, page).unwrap();
            let picture = Path::new(&pictures).join(format!("{name}{what}.png"));
            let picture = format!("--screenshot={}", picture.display());
            open(&browser, folder.path(), &path, &["--window-size=1500,1000", &picture]);
        }
    }
    let person = PERSON.replace("PERSON_SEARCH", &serde_json::json!(search).to_string());
    std::fs::write(&path, page.replacen("</head>", &format!("{person}</head>"), 1)).unwrap();
    let (document, log) = open(&browser, folder.path(), &path, &["--dump-dom"]);
    assert!(!log.contains("CONSOLE"), "{log}");
    let (_, after) = document.split_once("<title>").unwrap();
    let (title, _) = after.split_once("</title>").unwrap();
    let title = title.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    Some(serde_json::from_str(&title).unwrap_or_else(|error| panic!("{error}: {title}")))
}

#[test]
#[ignore = "wants Chromium; cargo xtask ci --long runs it"]
fn a_browser_shows_details_finds_and_hides() {
    let Some(seen) = work_with("session", &page(&session()), "cold") else { return };
    assert_eq!(seen["errors"], serde_json::json!([]));
    assert_eq!(seen["fetched"], 0);
    for yes in ["details", "moved", "back", "closed", "zoomed", "named"] {
        assert_eq!(seen[yes], true, "{yes}");
    }
    assert_eq!(seen["focus"], "search");
    assert!(seen["text"].as_str().unwrap().contains("select 1"));
    assert_eq!((&seen["hits"], &seen["cleared"]), (&2.into(), &0.into()));
    assert_eq!(seen["found"], "State state00000");
    let nodes = seen["nodes"].as_u64().unwrap();
    assert_eq!(seen["with_dead"], nodes);
    let session = session();
    let all = session
        .agents()
        .flat_map(|agent| agent.nodes().map(move |node| AgentNode::new(agent.number(), node.id)));
    let active = all.filter(|node| session.is_active(*node)).count();
    assert!(u64::try_from(active).unwrap() < nodes);
    assert_eq!(seen["without_dead"], active);
}

#[test]
#[ignore = "wants Chromium; cargo xtask ci --long runs it"]
fn a_browser_works_with_two_thousand_nodes() {
    let Some(seen) = work_with("large", &page(&large(2000)), "step 7 of round 3") else { return };
    assert_eq!(seen["errors"], serde_json::json!([]));
    assert!(seen["nodes"].as_u64().unwrap() >= 2000);
    assert_eq!(seen["hits"], 1);
    assert_eq!(seen["details"], true);
}
