//! What every command works with: the store, the user, the output, the clock and Ctrl-C.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use context_runtime::{CancelSignal, CancelSource, ChatRef, Clock, Store, SystemClock, Timestamp, UserId};

use crate::error::Failure;
use crate::output::Output;

/// How a command ended when nothing failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    /// All is well.
    Fine,
    /// It found what it looks for and nobody wants: exit status 1.
    Found,
}

/// What every command works with.
pub(crate) struct App {
    pub(crate) user: UserId,
    pub(crate) out: Output,
    url: String,
}

impl App {
    pub(crate) fn new(url: String, user: &str, json: bool) -> Self {
        Self { user: user.into(), out: Output::new(json), url }
    }

    /// The store, which must exist: looking for something does not make one.
    pub(crate) async fn store(&self) -> Result<Arc<dyn Store>, Failure> {
        if let Some(path) = file_of(&self.url)
            && !Path::new(path).exists()
        {
            return Err(Failure::NoStore { url: self.url.clone() });
        }
        self.store_or_new().await
    }

    /// The store, made if it does not exist.
    pub(crate) async fn store_or_new(&self) -> Result<Arc<dyn Store>, Failure> {
        Ok(context_runtime::open(&self.url).await?)
    }

    /// A chat of the user.
    pub(crate) fn chat(&self, chat: &str) -> ChatRef {
        ChatRef::new(self.user.clone(), chat)
    }

    /// Now.
    pub(crate) fn now(&self) -> Timestamp {
        SystemClock.now()
    }

    /// A signal that is raised by Ctrl-C, for work that asks between two steps; a second Ctrl-C ends the process.
    /// Everything else may be killed at any time, because what is written is written in whole commits.
    pub(crate) fn interrupt(&self) -> CancelSignal {
        let source = CancelSource::new();
        let signal = source.signal();
        tokio::spawn(async move {
            if tokio::signal::ctrl_c().await.is_ok() {
                source.cancel();
                let _ = writeln!(std::io::stderr(), "stopping; press Ctrl-C again to stop at once");
            }
            if tokio::signal::ctrl_c().await.is_ok() {
                std::process::exit(130);
            }
        });
        signal
    }
}

/// The file a store URL names, if it names one.
fn file_of(url: &str) -> Option<&str> {
    let path = url.strip_prefix("sqlite:")?;
    let path = path.strip_prefix("//").unwrap_or(path);
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    (!path.is_empty() && !path.starts_with(':')).then_some(path)
}
