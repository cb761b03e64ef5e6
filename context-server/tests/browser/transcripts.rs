//! Recorded transcripts of each kind, read and searched.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use context_runtime::store::NewChat;
use context_runtime::transcript::{self, FileText, TranscriptChat};
use context_runtime::transfer::TreePlan;
use context_runtime::{CancelSignal, ChatRef, Store, Timestamp};
use context_server::{BranchView, Operations};
use context_simulator::recordings;
use serde_json::Value;

use crate::driver::{Browser, Page, View};
use crate::site::{Site, chat};

/// The most chats of a file that are opened.
const CHATS: usize = 2;
/// The most exchanges of a provider that are opened.
const EXCHANGES: usize = 2;

/// Why a test of recorded data was not run.
type Skipped = Option<String>;

fn data() -> Result<PathBuf, String> {
    recordings::folder().ok_or_else(|| "no test data".to_owned())
}

pub(crate) async fn claude_code(browser: &Browser) -> Skipped {
    of_folder(browser, "claude-code").await
}

pub(crate) async fn swe_agent(browser: &Browser) -> Skipped {
    of_folder(browser, "swe-agent").await
}

pub(crate) async fn tau_bench(browser: &Browser) -> Skipped {
    of_folder(browser, "tau-bench").await
}

pub(crate) async fn toolbench(browser: &Browser) -> Skipped {
    of_folder(browser, "toolbench").await
}

/// Requests as programs sent them to providers.
pub(crate) async fn provider_requests(browser: &Browser) -> Skipped {
    let folder = match data() {
        Ok(folder) => folder.join("data/pydantic-ai-cassettes"),
        Err(reason) => return Some(reason),
    };
    let mut read = 0;
    for provider in ["anthropic", "openai-chat", "openai-responses", "gemini"] {
        let exchanges = recordings::exchanges(&folder, provider);
        for exchange in exchanges.iter().take(EXCHANGES) {
            let file = FileText::new("request.json", exchange.request.to_string());
            read += opened(browser, &file).await;
        }
    }
    assert!(read > 2, "only {read} requests were read");
    None
}

async fn of_folder(browser: &Browser, name: &str) -> Skipped {
    let folder = match data() {
        Ok(folder) => folder.join("data").join(name),
        Err(reason) => return Some(reason),
    };
    let mut read = 0;
    for file in files(&folder) {
        let bytes = fs::read(&file).unwrap();
        let shown = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        read += opened(browser, &FileText::from_bytes(shown, bytes)).await;
    }
    (read == 0).then(|| format!("no test data in {name}"))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
    files.retain(|file| {
        file.extension().is_some_and(|end| ["json", "jsonl", "traj"].iter().any(|it| end == *it))
    });
    files.sort();
    files
}

/// Opens the first chats of a file, as `context ui FILE` does. Returns their number.
async fn opened(browser: &Browser, file: &FileText) -> usize {
    let Ok(read) = transcript::read(file, None, Timestamp::from_micros(0)) else { return 0 };
    let site = Site::new().await;
    let mut names = Vec::new();
    for (number, one) in read.chats.into_iter().take(CHATS).enumerate() {
        let name = format!("{} {number}", file.name());
        write(&site.store, &name, one).await;
        names.push(name);
    }
    let page = site.page(browser, View::WIDE, "/").await;
    for name in &names {
        let operations = Operations::new(Arc::clone(&site.store)).user("ada");
        let view = operations.branch(name, None).await.unwrap();
        if view.rows() > 0 {
            read_through(&page, name, &view).await;
        }
    }
    names.len()
}

async fn write(store: &Arc<dyn Store>, name: &str, chat: TranscriptChat) {
    let reference = ChatRef::new("ada", name);
    let mut new = NewChat::new(reference, Timestamp::from_micros(0));
    new.title = chat.title;
    let plan = TreePlan::new(new, &chat.tree).unwrap();
    let _written = plan.write(store.history(), &CancelSignal::default(), |_| ()).await.unwrap();
}

/// Reads the first and the last row, and finds the words of one in the middle.
async fn read_through(page: &Page, name: &str, view: &BranchView) {
    page.go(&chat(name)).await;
    let last = view.rows() - 1;
    shows(page, view, 0).await;
    page.press(&["G"]).await;
    page.wait(&format!("document.querySelector('.row.current')?.dataset.row === '{last}'")).await;
    shows(page, view, last).await;
    page.is_sound().await;

    let texts = (0..=last).filter_map(|row| Some((row, words(view, row)?)));
    let middle = texts.min_by_key(|(row, _)| row.abs_diff(last / 2));
    let Some((row, words)) = middle else { return };
    let id = view.row(row).unwrap().node.id.as_str();
    let of_chat = crate::site::encode(name);
    page.go(&format!("/search?q={}&chat={of_chat}", crate::site::encode(&words))).await;
    let hit = format!(
        "[...document.querySelectorAll('.hits a')].find((it) => new URL(it.href).searchParams.get('at') === {})",
        Value::from(id)
    );
    let found = page.eval(&format!("Boolean({hit})")).await;
    // Many messages may have the words: then only that some were found is known.
    if found == true {
        page.leaving(async { drop(page.eval(&format!("{hit}.click()")).await) }).await;
        page.wait(&format!("document.querySelector('.row.current')?.dataset.row === '{row}'"))
            .await;
        shows(page, view, row).await;
    } else {
        let hits = page.eval("document.querySelectorAll('.hits li').length").await;
        assert_eq!(hits, 50, "{name}: row {row} is not found by {words:?}");
    }
    page.is_sound().await;
}

/// Fails unless a row is in sight with the words of its message.
async fn shows(page: &Page, view: &BranchView, row: usize) {
    page.wait(&format!(
        "(() => {{ const row = document.querySelector('[data-row=\"{row}\"]:not(.ghost)')?.getBoundingClientRect();
        return row && row.bottom > 0 && row.top < innerHeight; }})()"
    ))
    .await;
    if let Some(words) = words(view, row) {
        let words = Value::from(words);
        let text = format!(
            "document.querySelector('[data-row=\"{row}\"]').textContent.replace(/\\s+/g, ' ').includes({words})"
        );
        page.wait(&text).await;
    }
}

/// Returns some words of the text of a row, as they stand there, without any markup.
fn words(view: &BranchView, row: usize) -> Option<String> {
    let message = view.row(row)?.node.message().ok()?;
    let text = message.parts.iter().find_map(|part| match part {
        context_runtime::Part::Text(text) => Some(text.text.as_str()),
        _ => None,
    })?;
    let plain = |word: &&str| word.chars().all(|c| c.is_ascii_alphanumeric());
    text.lines().find_map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let run = words.windows(5).find(|run| run.iter().all(|it| plain(it) && !it.is_empty()))?;
        Some(run.join(" "))
    })
}
