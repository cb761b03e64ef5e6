//! A small driver of Chromium: its DevTools protocol over two pipes.
//!
//! With `--remote-debugging-pipe` a browser reads commands from file descriptor 3 and writes
//! answers and events to 4. A shell puts them there, so no socket, no TLS and no unsafe code is
//! needed. The browser ends when the pipe is closed, in whatever way its owner ends.

mod browser;
mod link;
mod page;
mod watch;

pub(crate) use browser::{Browser, INSTALL};
pub(crate) use page::{Page, View};
