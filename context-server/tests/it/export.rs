//! A chat as one file.

use context_runtime::{assistant, user};
use context_server::{FirstView, HtmlExportError, HtmlExported, Operations, write_html};

use crate::site::Site;

async fn export(site: &Site, chat: &str) -> Result<(HtmlExported, String), HtmlExportError> {
    let operations = Operations::new(site.store.clone()).user("ada");
    let mut page = Vec::new();
    let done = write_html(&operations, chat, None, FirstView::Chat, &mut page).await?;
    Ok((done, String::from_utf8(page).unwrap()))
}

#[tokio::test]
async fn a_file_has_all_rows_requests_and_branches_within_it() {
    let site = Site::new().await;
    let messages = (0..70).flat_map(|n| {
        [
            user(format!("Question {n}")).with_id(format!("u{n}")),
            assistant(format!("Answer {n}")).with_id(format!("a{n}")),
        ]
    });
    let mut engine = site.say("long", messages).await;
    engine.rewind(&"a9".into()).await.unwrap();
    engine.set([user("Another question")]).save().await.unwrap();
    let (done, page) = export(&site, "long").await.unwrap();
    assert_eq!((done.rows, done.requests, done.branches, done.all_branches), (21, 11, 2, 2));
    for address in [
        "/chats/long/rows?from=0&count=21",
        "/chats/long/sent?number=11",
        "/chats/long/sent?message=a3",
        "/chats/long/compare?after=2",
        "/chats/long/branches",
        "/chats/long/rows?branch=main&from=120&count=20",
        "/api/v1/chats/long/outline?from=0&count=200",
    ] {
        assert!(page.contains(&format!("\"{address}\":[")), "{address}");
    }
    // The first page is there to be read before anything is unpacked, also without scripts.
    assert!(page.contains("Another question") && page.contains("Answer 9"));
}

#[tokio::test]
async fn nothing_in_a_file_is_fetched_and_no_content_is_markup() {
    let site = Site::new().await;
    let hostile = "</script><script>alert(1)</script><img src=x onerror=alert(1)>";
    site.say(hostile, [user(hostile).with_id(hostile.to_owned()), assistant(hostile)]).await;
    let (_, page) = export(&site, hostile).await.unwrap();
    // Packs, places, the colours, and the scripts of the page.
    let scripts = page.matches("<script").count();
    assert_eq!(scripts, page.matches("id=\"pack-").count() + 3);
    for bad in ["<img src=x", "<script>alert", "src=\"http", "href=\"/assets"] {
        assert!(!page.contains(bad), "{bad}");
    }
    let policy = "default-src 'none'; script-src 'sha256-";
    assert!(page.contains(policy) && !page.contains("unsafe-inline"));
}

#[tokio::test]
async fn a_chat_that_is_not_there_is_named() {
    let site = Site::new().await;
    let error = export(&site, "nowhere").await.unwrap_err();
    assert!(
        error.to_string().contains("not found") || error.to_string().contains("nowhere"),
        "{error}"
    );
}
