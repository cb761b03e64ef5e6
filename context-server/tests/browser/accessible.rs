//! Findings of axe-core, and contents that are hard to lay out.
//!
//! `CONTEXT_TEST_AXE` names the script; `cargo xtask test` installs it with npm.

use serde_json::Value;

use crate::demo::{self, ARABIC, BOOKING, BRANCHES, CODING, EMPTY};
use crate::driver::{Browser, Page, View};
use crate::site::{Site, chat};

/// Findings of this weight fail the test.
const GRAVE: [&str; 2] = ["serious", "critical"];

fn addresses() -> Vec<String> {
    vec![
        "/".to_owned(),
        chat(BOOKING),
        chat(CODING),
        chat(ARABIC),
        chat(EMPTY),
        format!("{}/branches", chat(BRANCHES)),
        "/search?q=seats".to_owned(),
        "/search?q=nothinghasthisword".to_owned(),
        "/chats/nowhere".to_owned(),
    ]
}

pub(crate) async fn axe_has_no_serious_finding(browser: &Browser) -> Option<String> {
    let Some(script) = std::env::var_os("CONTEXT_TEST_AXE").filter(|path| !path.is_empty()) else {
        return Some("no axe-core: CONTEXT_TEST_AXE names axe.min.js".to_owned());
    };
    let script = std::fs::read_to_string(script).unwrap();
    let site = Site::of(demo::store().await).await;
    let page = site.page(browser, View::WIDE, "/").await;
    let mut tabs = Vec::new();
    for of in [BOOKING, CODING] {
        page.go(&chat(of)).await;
        let hrefs =
            page.eval("[...document.querySelectorAll('.tabs a')].map((it) => it.href)").await;
        tabs.extend(serde_json::from_value::<Vec<String>>(hrefs).unwrap());
    }
    let mut addresses = addresses();
    addresses.extend(tabs.into_iter().filter(|tab| !tab.ends_with("/branches")));
    addresses.dedup();
    let mut found = Vec::new();
    for view in [View::WIDE, View::DARK, View::NARROW] {
        page.view(view).await;
        for address in &addresses {
            page.go(address).await;
            page.eval("for (const it of document.querySelectorAll('details')) it.open = true")
                .await;
            found.extend(findings(&page, &script, view, address).await);
        }
        page.go(&chat(BOOKING)).await;
        for key in ["?", "."] {
            page.press(&["j", key]).await;
            page.wait("document.querySelector('dialog, [role=menu]')").await;
            found.extend(findings(&page, &script, view, key).await);
            page.press(&["Escape"]).await;
            // A dialog that closes late takes the focus from the menu, which closes it.
            page.wait("!document.querySelector('dialog, [role=menu]')").await;
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    None
}

async fn findings(page: &Page, script: &str, view: View, place: &str) -> Vec<String> {
    // In the dark the colours are others, and nothing else.
    let rules = if view.dark { "runOnly: ['color-contrast']," } else { "" };
    page.eval(&format!("window.axe ? null : (() => {{ {script} }})()")).await;
    let found = page
        .eval(&format!("axe.run(document, {{ {rules} resultTypes: ['violations'] }}).then(({{ violations }}) => violations.map(({{ id, impact, help, nodes }}) =>
            ({{ id, impact, help, nodes: nodes.slice(0, 3).map((node) => node.html.slice(0, 160) + ' ' + (node.any[0]?.message ?? '')) }})))"))
        .await;
    let found = found.as_array().cloned().unwrap_or_default();
    let grave = found.into_iter().filter(|it| GRAVE.iter().any(|grave| it["impact"] == *grave));
    grave
        .map(|it| format!("{place} {view:?}: {} {}\n  {:#}", it["id"], it["help"], it["nodes"]))
        .collect()
}

/// No page is wider than its window, whatever its contents.
pub(crate) async fn nothing_is_wider_than_the_page(browser: &Browser) {
    let site = Site::of(demo::store().await).await;
    let page = site.page(browser, View::WIDE, "/").await;
    page.wait("document.querySelectorAll('table.chats tbody tr').length > 5").await;
    let links = "[...document.querySelectorAll('table.chats td.name a')].map((it) => it.href)";
    let chats: Vec<String> = serde_json::from_value(page.eval(links).await).unwrap();
    let branches = chats.iter().map(|chat| format!("{chat}/branches"));
    let all: Vec<String> = addresses().into_iter().chain(chats.clone()).chain(branches).collect();
    let smallest = View { width: 360, ..View::NARROW };
    let largest = View { width: 2560, height: 1440, ..View::WIDE };
    for view in [smallest, View::WIDE, largest] {
        page.view(view).await;
        for address in &all {
            page.go(address).await;
            page.eval("for (const it of document.querySelectorAll('details')) it.open = true")
                .await;
            let wide = page
                .eval("[document.documentElement, document.body, ...document.querySelectorAll('main, .row, .call, .bar')]
                    .filter((it) => it.scrollWidth > it.clientWidth + 1 && !it.matches('.call > header'))
                    .map((it) => `${it.tagName}.${it.className} ${it.scrollWidth} > ${it.clientWidth}`)")
                .await;
            assert_eq!(wide, Value::Array(Vec::new()), "{address} at {} pixels", view.width);
        }
    }
    let faults = page.faults().await;
    assert!(faults.iter().all(|it| it.contains("404")), "{faults:#?}");
}

/// Text is laid out in its own direction, whatever is beside it.
pub(crate) async fn text_has_its_own_direction(browser: &Browser) {
    let site = Site::of(demo::store().await).await;
    let page = site.page(browser, View::WIDE, &chat(ARABIC)).await;
    let direction =
        |of: &str| format!("getComputedStyle(document.querySelector('{of}')).direction");
    assert_eq!(page.eval(&direction(".row.user .md p")).await, "rtl");
    assert_eq!(page.eval(&direction(".row.assistant .md p")).await, "rtl");
    assert_eq!(page.eval(&direction(".row > header")).await, "ltr");
    page.go(&chat("里斯本")).await;
    page.sees("main", "星期五去里斯本的两个座位").await;
    page.go("/search?q=里斯本").await;
    page.sees(".hits", "里斯本").await;
    page.go(&chat(EMPTY)).await;
    page.sees("main", "This branch has no messages yet.").await;
    page.go("/").await;
    page.wait("document.querySelector('table.chats')").await;
    page.is_sound().await;
}

/// A store without chats says how to fill it.
pub(crate) async fn an_empty_store_says_what_to_do(browser: &Browser) {
    let site = Site::new().await;
    let page = site.page(browser, View::WIDE, "/").await;
    page.sees("main", "has no chats in this store").await;
    page.go("/search?q=").await;
    page.sees("main", "Type words").await;
    page.go("/chats/nowhere").await;
    page.sees("main", "nowhere").await;
    let faults = page.faults().await;
    assert!(faults.iter().all(|it| it.contains("404")), "{faults:#?}");
}
