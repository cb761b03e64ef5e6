//! Pictures of the pages, for the documentation and for looking at.
//!
//! `CONTEXT_TEST_SCREENSHOTS` names the folder; `cargo xtask screenshots` is the usual way.

use std::path::Path;

use crate::demo::{self, BOOKING, BRANCHES, CODING};
use crate::driver::{Browser, Page, View};
use crate::site::{Site, chat};

/// The most that all pictures may take, in bytes.
const LARGEST: usize = 2_000_000;

/// A picture: its name, the address, its view, and the keys that are pressed before.
type Picture = (&'static str, String, View, &'static [&'static str]);

/// Returns ten pictures: of each view, light, dark and narrow, with what is hard to lay out.
fn pictures() -> Vec<Picture> {
    let booking = chat(BOOKING);
    let coding = chat(CODING);
    let long = "offsite-planning-".repeat(6) + "with-everybody-of-the-three-offices-and-two-guests";
    let cut = "window=1300&policies=microcompact,snip";
    vec![
        ("chats", "/".into(), View::WIDE, &[]),
        ("chat-dark", format!("{coding}?at=c-ask"), View::DARK, &["j", "j", "l"]),
        ("failure", coding, View::WIDE, &["e"]),
        ("branches", format!("{}/branches", chat(BRANCHES)), View::WIDE, &[]),
        ("names", chat(&long), View::WIDE, &["j", "j", "l"]),
        ("right-to-left", chat(demo::ARABIC), View::NARROW, &[]),
        ("sent", format!("{booking}/sent?{cut}"), View::WIDE, &[]),
        ("difference", format!("{booking}/compare?{cut}"), View::WIDE, &[]),
        ("run", format!("{booking}/run"), View::WIDE, &["j", "j", "j", "Enter"]),
        ("provenance", format!("{booking}/run?view=provenance&message=b-held"), View::DARK, &[]),
    ]
}

pub(crate) async fn pages_are_pictured(browser: &Browser) -> Option<String> {
    let folder = std::env::var_os("CONTEXT_TEST_SCREENSHOTS").filter(|folder| !folder.is_empty());
    let Some(folder) = folder else {
        return Some("CONTEXT_TEST_SCREENSHOTS names no folder".to_owned());
    };
    let site = Site::of(demo::store().await).await;
    let page = site.page(browser, View::WIDE, "/").await;
    // Times are said as seen at one moment.
    let now = demo::LOOKED_AT;
    page.before(&format!("Date.now = () => {now};")).await;
    let mut total = 0;
    for (name, address, view, keys) in pictures() {
        page.view(view).await;
        page.go(&address).await;
        for key in keys {
            page.press(&[key]).await;
        }
        total += take(&page, Path::new(&folder), name).await;
    }
    assert!(total < LARGEST, "the pictures take {total} bytes");
    None
}

async fn take(page: &Page, folder: &Path, name: &str) -> usize {
    page.wait(
        "document.fonts.status === 'loaded' && [...document.images].every((it) => it.complete)",
    )
    .await;
    // The panel of a step follows the selection.
    page.wait("!document.querySelector('#detail')?.innerText.includes('Select a step')").await;
    // What was fetched is drawn with the next frames.
    page.eval(
        "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))",
    )
    .await;
    let picture = page.picture().await;
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join(format!("{name}.png")), &picture).unwrap();
    picture.len()
}
