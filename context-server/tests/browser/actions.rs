//! Actions on branches, each through the page.

use context_runtime::{assistant, user};
use serde_json::Value;

use crate::driver::{Browser, Page, View};
use crate::site::{Site, chat};

/// Chooses an action for the current row.
pub(crate) async fn choose(page: &Page, action: &str) {
    page.wait("document.querySelector('.row.current')").await;
    page.press(&["."]).await;
    page.wait("document.querySelector('[role=menu]')").await;
    let action = Value::from(action);
    page.eval(&format!(
        "[...document.querySelectorAll('[role=menuitem]')].find((it) => it.textContent === {action}).focus()"
    ))
    .await;
    page.press(&["Enter"]).await;
}

pub(crate) async fn branches_are_made_filled_and_chosen(browser: &Browser) {
    let site = Site::new().await;
    let messages = [
        user("Two seats").with_id("m1"),
        assistant("Which day?").with_id("m2"),
        user("On Friday").with_id("m3"),
    ];
    site.say("lisbon", messages).await;
    let page = site.page(browser, View::WIDE, &format!("{}?at=m2", chat("lisbon"))).await;
    page.leaving(choose(&page, "Rewind here")).await;
    page.sees("#toast", "nothing is lost").await;
    page.wait("document.querySelector('#branch').value === 'main-v2'").await;
    page.wait("document.querySelectorAll('.row').length === 2").await;
    // A message of the other branch is copied to the new one.
    page.go(&format!("{}?branch=main&at=m3", chat("lisbon"))).await;
    choose(&page, "Copy to a branch…").await;
    page.wait("document.querySelector('dialog [name=branch]')").await;
    page.eval("document.querySelector('dialog [name=branch]').select()").await;
    page.write("main-v2").await;
    page.press(&["Enter"]).await;
    page.sees("#toast", "Copied 1 message to the end of main-v2").await;
    page.go(&format!("{}?branch=main-v2", chat("lisbon"))).await;
    page.sees(".window", "On Friday").await;
    page.go(&format!("{}/branches", chat("lisbon"))).await;
    page.leaving(async {
        page.click("[data-act=switch]").await;
        page.sees("#toast", "main is the active branch now").await;
    })
    .await;
    page.sees(".tree .active", "main").await;
    page.leaving(page.click(".acts a")).await;
    page.sees(".sides", "On Friday").await;
    page.sees("main", "2 messages are the same").await;
    page.go(&format!("{}/branches", chat("lisbon"))).await;
    // To delete asks first, and says what else holds a copy.
    page.click("[data-act=delete_branch]").await;
    page.sees("dialog", "Copies in recorded rounds and memories remain").await;
    page.press(&["Escape"]).await;
    page.sees(".tree", "main-v2").await;
    page.go(&format!("{}?at=m3", chat("lisbon"))).await;
    choose(&page, "Redact everywhere…").await;
    page.sees("dialog", "Not reached: files it was imported from, exports and backups").await;
    page.press(&["Escape"]).await;
    page.sees(".window", "On Friday").await;
    page.is_sound().await;
}
