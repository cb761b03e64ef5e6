//! The driver of Chromium that the tests of the inspector have.

#[path = "../../../context-server/tests/browser/driver/browser.rs"]
mod browser;
#[path = "../../../context-server/tests/browser/driver/link.rs"]
mod link;
#[path = "../../../context-server/tests/browser/driver/page.rs"]
mod page;
#[path = "../../../context-server/tests/browser/driver/watch.rs"]
mod watch;

pub(crate) use browser::{Browser, INSTALL};
pub(crate) use page::{Page, View};
