//! From a hit of the search, or a link, to what it names.

use context_runtime::store::{ChatPatch, TitleChange};
use context_runtime::{Part, Role, user};
use serde_json::json;

use crate::demo::message;
use crate::driver::{Browser, View};
use crate::site::{Site, chat};

pub(crate) async fn hits_name_their_chat_and_open_what_hides_them(browser: &Browser) {
    let site = Site::new().await;
    let output =
        |from: usize, to: usize| -> String { (from..to).map(|n| format!("line {n}\n")).collect() };
    let output = format!("{}the needle is here\n{}", output(0, 80), output(80, 160));
    let call = Part::tool_call("c1", "bash", json!({"command": "look"}));
    let messages = [
        message(Role::System, [Part::text("Speak like a sailor.")]).with_id("s1"),
        user("Find it.").with_id("m1"),
        message(Role::Assistant, [call]).with_id("m2"),
        message(Role::Tool, [Part::tool_result("c1", output)]).with_id("m3"),
        user("Thanks.").with_id("m4"),
    ];
    let mut engine = site.say("haystack-17", messages).await;
    let title = TitleChange::Set("The big haystack".to_owned());
    engine.update_chat(&ChatPatch { title, ..ChatPatch::default() }).await.unwrap();
    let page = site.page(browser, View::WIDE, "/search?q=needle").await;
    page.sees(".hits .of", "The big haystack").await;
    assert_eq!(page.eval("document.querySelectorAll('.hits li').length").await, 1);
    page.leaving(async { page.click(".hits a").await }).await;
    page.sees(".row.current .long details[open]", "the needle is here").await;
    // The address that is in the bar now says the same to somebody else.
    let address = page.eval("location.href").await;
    page.go(address.as_str().unwrap()).await;
    page.sees(".row.current .long details[open]", "the needle is here").await;
    page.go(&format!("{}?at=s1", chat("haystack-17"))).await;
    page.sees(".row.system.current details[open]", "Speak like a sailor.").await;
    page.go(&chat("haystack-17")).await;
    page.wait("document.querySelector('.row.system')").await;
    assert_eq!(page.eval("document.querySelectorAll('details[open]').length").await, 0);
    page.go("/search?q=needle&chat=haystack-17").await;
    page.sees(".heading", "in The big haystack").await;
    page.is_sound().await;
}
