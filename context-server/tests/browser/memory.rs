//! The memories of two users.

use std::sync::Arc;

use context_runtime::memory::{
    CapturedMessage, CapturedTurn, Episodic, MemoryProvider, MemoryScope,
};
use context_runtime::{CancelSignal, Message, Role, Timestamp, user};

use crate::driver::{Browser, View};
use crate::site::Site;

async fn remember(site: &Site, of: &str, texts: &[&str]) {
    let said = texts.iter().enumerate().map(|(at, text)| {
        let mut said =
            CapturedMessage::new(format!("m{at}"), Message::text(Role::User, (*text).to_owned()));
        said.at = Some(Timestamp::from_micros(1_700_000_000_000_000));
        said
    });
    let scope = MemoryScope::new(of.to_owned()).session("lisbon");
    let turn = CapturedTurn::new(scope, "t1", Timestamp::from_micros(0), said.collect());
    let episodes = Episodic::new(Arc::clone(&site.store)).unwrap();
    episodes.capture(&turn, &CancelSignal::never()).await.unwrap();
}

pub(crate) async fn memories_are_recalled_and_forgotten(browser: &Browser) {
    let site = Site::new().await;
    site.say("lisbon", [user("I fly from Lisbon only.").with_id("m0")]).await;
    remember(&site, "ada", &["I fly from Lisbon only.", "My cat is called Tom."]).await;
    remember(&site, "bob", &["Invoices go to the office."]).await;
    let page = site.page(browser, View::WIDE, "/").await;
    page.leaving(async { page.press(&["g", "m"]).await }).await;
    page.sees("main", "2 records").await;
    page.sees(".memories", "from lisbon").await;
    let all = "document.querySelector('main').innerText";
    assert_eq!(page.eval(&format!("{all}.includes('Invoices')")).await, false);
    // What would be recalled.
    page.eval("document.querySelector('.recallform [name=q]').focus()").await;
    page.write("from where do I fly").await;
    page.leaving(async { page.press(&["Enter"]).await }).await;
    page.sees(".recall", "Recalled for “from where do I fly”").await;
    page.sees(".recall li", "I fly from Lisbon only.").await;
    page.sees(".recall li", "score").await;
    // Where it came from.
    let source = "document.querySelector('.recall .facts a').click()";
    page.leaving(async { drop(page.eval(source).await) }).await;
    page.sees(".row.current", "I fly from Lisbon only.").await;
    // Nothing is forgotten by the question alone.
    page.go("/memory").await;
    let button = "[...document.querySelectorAll('.memories li')].find((it) => it.innerText.includes('Lisbon only')).querySelector('[data-forget]').click()";
    page.eval(button).await;
    page.sees("dialog", "Not reached: the message it came from").await;
    page.press(&["Escape"]).await;
    page.wait("!document.querySelector('dialog')").await;
    page.sees(".memories", "I fly from Lisbon only.").await;
    page.eval(button).await;
    page.click("dialog button.danger").await;
    page.sees("dialog", "The message m0 of lisbon still has the text").await;
    page.press(&["Escape"]).await;
    page.wait(&format!("!{all}.includes('I fly from')")).await;
    page.go("/memory").await;
    page.sees("main", "1 records").await;
    page.is_sound().await;
    // The other user has what is his, and nothing else.
    let other = Site::seen_by(Arc::clone(&site.store), "bob", false).await;
    let page = other.page(browser, View::WIDE, "/memory").await;
    page.sees(".memories", "Invoices go to the office.").await;
    assert_eq!(page.eval(&format!("{all}.includes('cat')")).await, false);
    page.go("/memory?q=what is my cat called").await;
    page.wait("document.querySelector('.recall')").await;
    assert_eq!(page.eval(&format!("{all}.includes('Tom')")).await, false);
    page.is_sound().await;
}
