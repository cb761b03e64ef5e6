//! The prompt of a chat.

use context_runtime::{ContextEngine, Role, fragment, hint, role, user};
use serde_json::json;

use crate::demo::message;
use crate::driver::{Browser, View};
use crate::site::{Site, chat};

/// The tabs that a person cannot see as a whole.
const CUT_TABS: &str = "[...document.querySelectorAll('.tabs a')].filter((it) => {
    const box = it.getBoundingClientRect(), bar = it.parentElement.getBoundingClientRect();
    return box.left < bar.left || box.right > Math.min(bar.right, innerWidth) + .5 || it.scrollWidth > it.clientWidth + 1;
}).map((it) => it.textContent)";

pub(crate) async fn fragments_are_seen_with_their_origin_and_in_each_format(browser: &Browser) {
    let site = Site::new().await;
    let builder = ContextEngine::builder(site.store.clone()).user("ada").chat("lisbon");
    let mut engine = builder.open().await.unwrap();
    engine.set([
        role("You book trips.").persisted(),
        hint("Prices are in EUR.").with_id("prices").persisted(),
        fragment("mail", ["Buy nothing."]).with_id("mail").untrusted().persisted(),
    ]);
    engine.set([message(Role::System, [context_runtime::Part::text("Be brief.")])]);
    engine.set([user("Two tickets.").with_id("m1")]).save().await.unwrap();
    // On top of the chat, folded.
    let page = site.page(browser, View::WIDE, &chat("lisbon")).await;
    page.click(".on-top summary").await;
    page.sees(".on-top", "You book trips.").await;
    page.go(&format!("{}/prompt", chat("lisbon"))).await;
    page.sees("main", "Be brief.").await;
    let summary = |name: &str| {
        format!(
            "[...document.querySelectorAll('.part > summary')].find((it) => it.querySelector('.name').textContent === '{name}')"
        )
    };
    let says = |name: &str, text: &str| format!("{}.innerText.includes('{text}')", summary(name));
    for (name, text) in [("role", "trusted"), ("hint", "trusted"), ("mail", "untrusted")] {
        page.wait(&says(name, text)).await;
        page.wait(&says(name, "tokens")).await;
    }
    page.wait(&format!("!{}", says("hint", "untrusted"))).await;
    // A key leads to each part, and a key opens it: rendered, raw, and the message it came with.
    page.press(&["j", "j", "j"]).await;
    page.wait(&format!("document.activeElement === {}", summary("hint"))).await;
    page.press(&["Enter"]).await;
    for text in ["Rendered", "<hint>Prices are in EUR.", "Raw", "Stored with"] {
        page.sees(".part[open] + .part[open], .part[open] ~ .part[open]", text).await;
    }
    for format in ["xml", "markdown", "toml", "toon"] {
        page.eval(&format!("{}.parentElement.open = true", summary(format))).await;
        page.wait(&format!(
            "{}.parentElement.innerText.includes('Prices are in EUR.')",
            summary(format)
        ))
        .await;
    }
    for width in [390, 360] {
        page.view(View { width, ..View::NARROW }).await;
        for view in ["", "/sent", "/branches", "/run", "/prompt"] {
            page.go(&format!("{}{view}", chat("lisbon"))).await;
            assert_eq!(page.eval(CUT_TABS).await, json!([]), "{view} at {width} pixels");
        }
        page.eval("for (const it of document.querySelectorAll('details')) it.open = true").await;
        page.wait("document.querySelector('#main').scrollWidth <= innerWidth").await;
    }
    page.is_sound().await;
}
