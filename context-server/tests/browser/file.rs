//! A chat as one file, opened without a server.

use context_server::{FirstView, Operations, write_html};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::demo::{self, BOOKING};
use crate::driver::{Browser, Page, View};
use crate::hostile;
use crate::site::Site;

/// Writes a chat to a file and opens it. Whatever else is asked for is a fault.
async fn opened(browser: &Browser, site: &Site, chat: &str) -> (TempDir, Page) {
    let operations = Operations::new(site.store.clone()).user("ada");
    let mut bytes = Vec::new();
    write_html(&operations, chat, None, FirstView::Chat, &mut bytes).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("chat.html");
    std::fs::write(&file, bytes).unwrap();
    let url = format!("file://{}", file.display());
    let page = browser.page(&url, View::WIDE).await;
    page.go(&url).await;
    (folder, page)
}

/// Follows the tab of a view.
async fn tab(page: &Page, name: &str) {
    let tab = format!(
        "[...document.querySelectorAll('.tabs a')].find((it) => it.textContent === '{name}').click()"
    );
    page.leaving(async { drop(page.eval(&tab).await) }).await;
    page.sees(".tabs [aria-current]", name).await;
}

pub(crate) async fn a_file_has_its_views_and_needs_no_server(browser: &Browser) {
    let site = Site::of(demo::store().await).await;
    let (_folder, page) = opened(browser, &site, BOOKING).await;
    page.sees(".window", "Both seats are held until 18:00").await;
    tab(&page, "Sent").await;
    page.sees(".pieces", "Good. Pay with the office card.").await;
    tab(&page, "Difference").await;
    page.sees("main", "cache").await;
    tab(&page, "Run").await;
    page.sees(".steps", "search_flights").await;
    tab(&page, "Prompt").await;
    page.sees("main", "You book flights").await;
    // Back, and the same again after a reload.
    let back = async { drop(page.eval("history.back()").await) };
    page.leaving(back).await;
    page.sees(".tabs [aria-current]", "Run").await;
    page.leaving(async { drop(page.ask("Page.reload", json!({})).await) }).await;
    page.sees(".tabs [aria-current]", "Run").await;
    page.sees(".steps", "search_flights").await;
    tab(&page, "Chat").await;
    page.eval("document.querySelector('.find [name=q]').focus()").await;
    page.write("luggage").await;
    page.press(&["Enter"]).await;
    page.wait("document.querySelector('#hits .hit')").await;
    page.leaving(async { page.click("#hits .hit").await }).await;
    page.sees(".row.current details[open]", "luggage").await;
    page.is_sound().await;
}

/// Fails if anything of the content was more than text.
async fn is_tame(page: &Page, scripts: &Value) {
    assert_eq!(page.eval("typeof pwned").await, "undefined", "a script of the content ran");
    assert_eq!(page.eval(SCRIPTS).await, *scripts);
    let theirs = page
        .eval("[...document.querySelectorAll('base, iframe, object, embed, body meta, body style, body link, [onclick], [onload], [onerror], form, img, a[href]')]
            .filter((it) => !it.matches('form.find, form[method=dialog], form[data-do]')
                && !(it.matches('img') && /^data:image\\/(png|jpeg|gif|webp);base64,/.test(it.src))
                && !(it.matches('a') && /^(file|https?|mailto):$/.test(it.protocol)))
            .map((it) => it.outerHTML)")
        .await;
    assert_eq!(theirs, json!([]), "elements that nobody of ours wrote");
    page.is_sound().await;
}

const SCRIPTS: &str = "document.querySelectorAll('script').length";

pub(crate) async fn content_of_a_file_is_text(browser: &Browser) {
    let site = Site::new().await;
    let chat = hostile::write(&site).await;
    let (_folder, page) = opened(browser, &site, &chat).await;
    let ours = "2 + document.querySelectorAll('script[id^=pack-], script#places').length";
    let scripts = page.eval(ours).await;
    page.wait("document.querySelectorAll('.row').length === 5").await;
    let unfold = "for (const it of document.querySelectorAll('details')) it.open = true";
    page.eval(unfold).await;
    for field in ["user", "media-svg", "type", "media-url", "document", "audio"] {
        page.wait(&format!(
            "document.querySelector('main').textContent.includes({})",
            Value::from(format!("{field}\"'><script>pwned=1;alert(1)</script><img src=x"))
        ))
        .await;
    }
    is_tame(&page, &scripts).await;
    for name in ["Sent", "Difference", "Branches", "Run", "Prompt"] {
        tab(&page, name).await;
        page.eval(unfold).await;
        page.press(&["j", "j", "k"]).await;
        is_tame(&page, &scripts).await;
    }
    tab(&page, "Chat").await;
    page.eval("document.querySelector('.find [name=q]').focus()").await;
    page.write("pwned").await;
    page.press(&["Enter"]).await;
    page.wait("document.querySelectorAll('#hits .hit').length > 2").await;
    is_tame(&page, &scripts).await;
}
