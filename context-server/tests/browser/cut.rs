//! A compaction, as it is seen in the chat.

use context_runtime::{assistant, user};
use serde_json::json;

use crate::driver::{Browser, View};
use crate::site::{Site, chat};

/// The messages that are marked as cut.
const MARKED: &str = "[...document.querySelectorAll('.row.left-out')].map((it) => it.dataset.id)";

pub(crate) async fn what_a_compaction_cut_is_marked_until_it_is_undone(browser: &Browser) {
    let site = Site::new().await;
    let messages = (0..10).flat_map(|turn| {
        let long = "word ".repeat(400);
        [
            user(format!("Question {turn}: {long}")).with_id(format!("u{turn}")),
            assistant(format!("Answer {turn}")).with_id(format!("a{turn}")),
        ]
    });
    site.say("long", messages).await;
    let settings = "provider=openai&model=gpt-4o&window=6000&policies=truncate-head";
    let address = format!("{}/sent?{settings}", chat("long"));
    let page = site.page(browser, View::WIDE, &address).await;
    let reader = page.beside(View::WIDE).await;
    reader.go(&chat("long")).await;
    reader.sees(".window", "Question 9").await;
    assert_eq!(reader.eval(MARKED).await, json!([]));
    page.click("[data-do=compact]").await;
    page.sees("dialog", "Nothing is deleted").await;
    page.leaving(async { page.click("dialog button.primary").await }).await;
    page.sees("#toast", "Undo takes it back").await;
    // Who looks at the chat meanwhile sees it, too.
    reader.wait("document.querySelector('.row.boundary')").await;
    reader.wait(&format!("{MARKED}.includes('u1') && !{MARKED}.includes('u9')")).await;
    reader.sees(".row.left-out .badge", "not sent any more").await;
    assert_eq!(reader.eval("document.querySelectorAll('.row.boundary.left-out').length").await, 0);
    // The next request is without it, and says so at its place.
    site.say("long", [user("Question 10"), assistant("Answer 10")]).await;
    reader.sees(".window", "Answer 10").await;
    assert_eq!(reader.eval(&format!("{MARKED}.includes('u1')")).await, true);
    reader.leaving(async { reader.click(".row.left-out .badge").await }).await;
    reader.wait("location.pathname.endsWith('/sent')").await;
    reader.sees(".pieces .left-out", "left out").await;
    page.leaving(async { page.click("[data-do=undo]").await }).await;
    page.sees("#toast", "Took the newest compaction back").await;
    page.go(&chat("long")).await;
    page.sees(".window", "Question 9").await;
    assert_eq!(page.eval(MARKED).await, json!([]));
    page.is_sound().await;
    reader.is_sound().await;
}
