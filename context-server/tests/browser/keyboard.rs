//! The inspector without a mouse.

use serde_json::Value;

use crate::demo;
use crate::driver::{Browser, Page, View};
use crate::site::{Site, chat};

/// The element with the focus, in words.
const FOCUS: &str = "(() => { const it = document.activeElement;
    return it.dataset.row ? `row ${it.dataset.row}` : (it.id || it.getAttribute('role') || it.tagName.toLowerCase()); })()";

/// Whether a person sees where the focus is: by an outline, or by the mark of the row.
const SEEN: &str = "(() => { const it = document.activeElement;
    if (!it || it === document.body) return false;
    const style = getComputedStyle(it), box = it.getBoundingClientRect();
    const marked = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1
        || it.matches('.row.current, [role=menuitem]');
    return marked && box.bottom > 0 && box.top < innerHeight; })()";

async fn at(page: &Page, focus: &str) {
    page.wait(&format!("{FOCUS} === {}", Value::from(focus))).await;
    page.wait(SEEN).await;
}

async fn booking(browser: &Browser, place: &str) -> (Site, Page) {
    let site = Site::of(demo::store().await).await;
    let page = site.page(browser, View::WIDE, &format!("{}{place}", chat(demo::BOOKING))).await;
    (site, page)
}

pub(crate) async fn rows_are_read_without_a_mouse(browser: &Browser) {
    let (_site, page) = booking(browser, "").await;
    page.press(&["j"]).await;
    at(&page, "row 0").await;
    page.press(&["j", "j"]).await;
    at(&page, "row 2").await;
    page.press(&["k"]).await;
    at(&page, "row 1").await;
    page.press(&["j"]).await;
    // Row 2 is an answer with a thought and a call.
    let opened = "[...document.querySelectorAll('.row.current > details, .row.current .call > details')].map((it) => it.open).join()";
    let opens = |state: &str| format!("{opened} === '{state}'");
    page.wait(&opens("false,false")).await;
    page.press(&["o"]).await;
    page.wait(&opens("true,true")).await;
    page.press(&["h"]).await;
    page.wait(&opens("false,false")).await;
    page.press(&["l"]).await;
    page.wait(&opens("true,true")).await;
    page.press(&["e"]).await;
    page.wait("document.querySelector('.row.current .call.failed')").await;
    page.wait(SEEN).await;
    let failed = page.eval(FOCUS).await;
    page.press(&["e"]).await;
    page.sees("#toast", "No failure after this row").await;
    page.press(&["G"]).await;
    page.press(&["k", "E"]).await;
    page.wait(&format!("{FOCUS} === {failed}")).await;
    page.press(&["g", "g"]).await;
    at(&page, "row 0").await;
    page.press(&["G"]).await;
    page.wait("(() => { const all = [...document.querySelectorAll('.row')]; return all.at(-1).getBoundingClientRect().top < innerHeight; })()").await;
    page.is_sound().await;
}

pub(crate) async fn actions_are_done_without_a_mouse(browser: &Browser) {
    let (_site, page) = booking(browser, "?at=b-ask-2").await;
    let choose = async |steps: usize| {
        page.press(&["."]).await;
        page.wait("document.activeElement.matches('[role=menuitem]')").await;
        page.press(&vec!["ArrowDown"; steps]).await;
        let name = page.eval("document.activeElement.textContent").await;
        (name.as_str().unwrap_or_default().to_owned(), page.wait(SEEN).await).0
    };
    // The menu is a ring.
    let first = choose(0).await;
    page.press(&["ArrowUp"]).await;
    page.wait("document.activeElement === document.querySelector('[role=menu]').lastElementChild")
        .await;
    page.press(&["ArrowDown"]).await;
    page.wait(&format!("document.activeElement.textContent === {}", Value::from(first))).await;
    page.press(&["End", "Home", "Escape"]).await;
    page.wait("!document.querySelector('[role=menu]')").await;

    let find = async |name: &str| {
        let all = "[...document.querySelectorAll('[role=menuitem]')].map((it) => it.textContent)";
        page.press(&["."]).await;
        page.wait("document.activeElement.matches('[role=menuitem]')").await;
        let names = page.eval(all).await;
        let names: Vec<&str> = names.as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let steps = names.iter().position(|it| *it == name).unwrap();
        page.press(&vec!["ArrowDown"; steps]).await;
        page.press(&["Enter"]).await;
    };
    find("Pin: no compaction takes it").await;
    page.sees("#toast", "No compaction takes this message any more").await;
    find("Unpin").await;
    page.sees("#toast", "Compactions may take this message again").await;
    find("Checkpoint…").await;
    page.wait("document.activeElement.name === 'name'").await;
    page.write("asked twice").await;
    page.press(&["Enter"]).await;
    page.sees("#toast", "asked twice").await;
    find("Copy to a branch…").await;
    page.wait("document.activeElement.name === 'branch'").await;
    page.press(&["Escape"]).await;
    page.wait("!document.querySelector('dialog')").await;
    find("Edit onto a branch…").await;
    page.wait("document.activeElement.name === 'text'").await;
    page.eval("document.activeElement.select()").await;
    page.write("Only one seat").await;
    page.leaving(async { page.press(&["Tab", "Tab", "Enter"]).await }).await;
    page.sees(".row.current", "Only one seat").await;
    page.wait(SEEN).await;
    // After the newest sibling comes the oldest, the message that was edited.
    page.leaving(async { page.press(&["]"]).await }).await;
    page.wait("document.querySelector('.row.current')?.dataset.id === 'b-ask-2'").await;
    page.leaving(async { page.press(&["["]).await }).await;
    page.sees(".row.current", "Only one seat").await;
    find("Fork to a new chat…").await;
    page.wait("document.activeElement.name === 'to'").await;
    page.leaving(async { page.press(&["Enter"]).await }).await;
    page.wait("location.pathname.endsWith('-fork')").await;
    page.sees(".window", "Only one seat").await;
    page.press(&["j"]).await;
    find("Redact everywhere…").await;
    page.wait("document.querySelector('dialog[open]')").await;
    page.press(&["Tab", "Enter"]).await;
    page.sees("dialog", "Removed the content").await;
    page.press(&["Escape"]).await;
    page.wait("!document.querySelector('dialog')").await;
    page.is_sound().await;
}

pub(crate) async fn focus_is_seen_and_comes_back(browser: &Browser) {
    let (_site, page) = booking(browser, "?at=b-ask-2").await;
    let row = page.eval(FOCUS).await.as_str().unwrap().to_owned();
    page.press(&["?"]).await;
    page.sees("dialog", "next or previous failure").await;
    // Keys of the page do nothing below a dialog.
    page.press(&["j"]).await;
    page.press(&["Escape"]).await;
    at(&page, &row).await;
    page.press(&["."]).await;
    page.wait("document.activeElement.matches('[role=menuitem]')").await;
    page.press(&["Escape"]).await;
    page.wait("document.activeElement.matches('.row.current [data-do=menu]')").await;
    page.wait(SEEN).await;
    page.press(&["/"]).await;
    page.wait("document.activeElement.name === 'q'").await;
    page.wait(SEEN).await;
    // Keys are letters while somebody types.
    page.press(&["j", "t"]).await;
    assert_eq!(page.eval("document.querySelector('.find [name=q]').value").await, "jt");
    page.press(&["Escape"]).await;
    page.wait("document.activeElement === document.body").await;
    // Every stop of the tab key is seen.
    page.go("/").await;
    for _ in 0..25 {
        page.press(&["Tab"]).await;
        if page.eval("document.activeElement === document.body").await == true {
            break;
        }
        let seen = page.eval(SEEN).await;
        assert_eq!(seen, true, "{}", page.eval("document.activeElement.outerHTML").await);
    }
    page.is_sound().await;
}

pub(crate) async fn views_have_keys(browser: &Browser) {
    let (_site, page) = booking(browser, "").await;
    let goes = async |keys: &[&str], end: &str| {
        page.leaving(async { page.press(keys).await }).await;
        let path = page.eval("location.pathname").await;
        assert!(path.as_str().unwrap().ends_with(end), "{keys:?} lead to {path}");
    };
    goes(&["b"], "/branches").await;
    page.press(&["j"]).await;
    page.wait("document.activeElement.closest('.tree')").await;
    page.wait(SEEN).await;
    goes(&["c"], demo::BOOKING).await;
    // From an answer to what was sent for it.
    page.press(&["j", "j", "j"]).await;
    page.wait("document.querySelector('.row.current')?.dataset.id === 'b-search'").await;
    goes(&["s"], "/sent").await;
    assert_eq!(page.eval("new URL(location).searchParams.get('message')").await, "b-search");
    page.is_sound().await;
    goes(&["d"], "/compare").await;
    goes(&["c"], demo::BOOKING).await;
    goes(&["g", "c"], "/").await;
    page.press(&["j", "j"]).await;
    page.wait("document.activeElement.closest('table.chats')").await;
    page.wait(SEEN).await;
    page.leaving(async { page.press(&["Enter"]).await }).await;
    page.wait("document.querySelector('[data-view=chat]')").await;
    let theme = page.eval("document.documentElement.dataset.theme").await;
    page.press(&["t"]).await;
    page.wait(&format!("document.documentElement.dataset.theme !== {theme}")).await;
    page.leaving(async {
        page.press(&["/"]).await;
        page.write("basic economy").await;
        page.press(&["Enter"]).await;
    })
    .await;
    page.wait(
        "location.pathname === '/search' && document.documentElement.dataset.theme === 'dark'",
    )
    .await;
    page.is_sound().await;
}
