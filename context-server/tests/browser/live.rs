//! Chats that grow while they are looked at.

use context_runtime::model::AnswerDelta;
use context_runtime::store::StreamEnd;
use context_runtime::streams::WriteOptions;
use context_runtime::{assistant, user};

use crate::driver::{Browser, View};
use crate::site::{Site, chat};

/// More rows than are drawn at once.
const MANY: usize = 400;

fn questions(numbers: std::ops::Range<usize>) -> impl Iterator<Item = context_runtime::Fragment> {
    numbers.map(|n| user(format!("Question {n}")).with_id(format!("m{n}")))
}

pub(crate) async fn a_page_at_its_end_follows(browser: &Browser) {
    for before in [3, MANY] {
        let site = Site::new().await;
        site.say("lisbon", questions(0..before)).await;
        let page = site.page(browser, View::WIDE, &chat("lisbon")).await;
        page.press(&["G"]).await;
        page.sees(".window", &format!("Question {}", before - 1)).await;
        site.say("lisbon", questions(before..before + 2)).await;
        let last = before + 1;
        page.sees(".window", &format!("Question {last}")).await;
        page.wait(&format!(
            "(() => {{ const row = document.querySelector('[data-row=\"{last}\"]').getBoundingClientRect();
            return row.top >= 0 && row.bottom <= innerHeight; }})()"
        ))
        .await;
        assert_eq!(page.eval("document.querySelector('#newer').hidden").await, true);
        page.is_sound().await;
    }
}

pub(crate) async fn a_page_in_the_middle_stays_and_says_how_many_are_new(browser: &Browser) {
    for before in [120, MANY] {
        let site = Site::new().await;
        site.say("lisbon", questions(0..before)).await;
        let middle = before / 2;
        let address = format!("{}?at=m{middle}", chat("lisbon"));
        let page = site.page(browser, View::WIDE, &address).await;
        let place = format!(
            "document.querySelector('[data-row=\"{middle}\"]').getBoundingClientRect().top"
        );
        page.wait("document.activeElement.classList.contains('row')").await;
        let was = page.eval(&place).await;
        site.say("lisbon", questions(before..before + 7)).await;
        page.sees("#newer", "7 new").await;
        assert_eq!(page.eval(&place).await, was, "the page jumped");
        let focused = page.eval("document.activeElement.dataset.row").await;
        assert_eq!(focused, middle.to_string(), "the focus is where it was");
        site.say("lisbon", questions(before + 7..before + 9)).await;
        page.sees("#newer", "9 new").await;
        page.click("#newer").await;
        page.sees(".window", &format!("Question {}", before + 8)).await;
        page.wait("document.querySelector('#newer').hidden").await;
        page.is_sound().await;
    }
}

pub(crate) async fn an_answer_is_seen_while_it_is_written(browser: &Browser) {
    let site = Site::new().await;
    let engine = site.say("lisbon", questions(0..30)).await;
    let page = site.page(browser, View::WIDE, &chat("lisbon")).await;
    page.sees(".window", "Question 2").await;
    let top = page.eval("document.querySelector('main').scrollTop").await;
    let mut answer = engine.streams().write("m29", WriteOptions::default()).await.unwrap();
    let call = AnswerDelta::ToolCall { id: "c1".into(), name: "list_flights".into() };
    let text = |text: &str| AnswerDelta::Text(text.into());
    for delta in [text("**Window** <b>or"), text(" aisle?"), call] {
        let _ = answer.push(serde_json::to_string(&delta).unwrap()).await.unwrap();
    }
    let _ = answer.flush().await.unwrap();
    page.sees("#answering", "Window <b>or aisle?").await;
    page.sees("#answering", "list_flights").await;
    assert_eq!(page.eval("document.querySelector('main').scrollTop").await, top, "it jumped");

    // Stored, it is a row, and no longer being written.
    site.say("lisbon", [assistant("Window or aisle?").with_id("a29")]).await;
    answer.end(StreamEnd::Completed).await.unwrap();
    page.wait("document.querySelector('#answering').hidden").await;
    page.press(&["G"]).await;
    page.sees(".window", "Window or aisle?").await;
    page.is_sound().await;
}

pub(crate) async fn a_second_tab_sees_what_the_first_did(browser: &Browser) {
    let site = Site::new().await;
    site.say("lisbon", questions(0..4)).await;
    let first = site.page(browser, View::WIDE, &format!("{}?at=m2", chat("lisbon"))).await;
    let second = first.beside(View::WIDE).await;
    second.go(&chat("lisbon")).await;
    second.sees(".window", "Question 2").await;

    // An edit opens a branch; the other tab keeps its own, and can go there.
    let edited = async {
        menu(&first, "Edit onto a branch…").await;
        first.wait("document.querySelector('dialog textarea')?.value === 'Question 2'").await;
        first.eval("document.querySelector('dialog textarea').select()").await;
        first.write("Question 2, asked better").await;
        first.click("dialog button.primary").await;
    };
    first.leaving(edited).await;
    first.sees(".window", "Question 2, asked better").await;
    first.sees("#toast", "main-v2").await;
    second.sees("#branch", "main-v2").await;
    second.sees(".window", "Question 3").await;

    // Removed content is gone from both.
    first.go(&format!("{}?at=m1", chat("lisbon"))).await;
    menu(&first, "Redact everywhere…").await;
    first.click("dialog button.danger").await;
    first.sees("dialog", "Removed the content").await;
    second.wait("!document.querySelector('.window').innerText.includes('Question 1')").await;
    second.sees(".window", "Question 3").await;
    first.is_sound().await;
    second.is_sound().await;
}

/// Chooses an action for the current row.
async fn menu(page: &crate::driver::Page, action: &str) {
    page.wait("document.querySelector('.row.current')").await;
    page.press(&["."]).await;
    page.wait("document.querySelector('[role=menu]')").await;
    let action = serde_json::Value::from(action);
    page.eval(&format!(
        "[...document.querySelectorAll('[role=menuitem]')].find((it) => it.textContent === {action}).focus()"
    ))
    .await;
    page.press(&["Enter"]).await;
}

pub(crate) async fn a_server_that_comes_back_is_followed_again(browser: &Browser) {
    let mut site = Site::new().await;
    site.say("lisbon", questions(0..3)).await;
    let page = site.page(browser, View::WIDE, &chat("lisbon")).await;
    page.sees(".window", "Question 2").await;
    site.stop().await;
    page.sees("#toast", "does not answer").await;
    page.sees(".window", "Question 2").await;
    // What is asked for meanwhile fails with a sentence, and takes nothing away.
    site.say("lisbon", questions(3..4)).await;
    site.start().await;
    page.sees(".window", "Question 3").await;
    page.sees("#toast", "Connected again").await;
    let faults = page.faults().await;
    let others: Vec<_> = faults.iter().filter(|it| !it.contains("net::ERR_")).collect();
    assert!(others.is_empty(), "{others:#?}");
}
