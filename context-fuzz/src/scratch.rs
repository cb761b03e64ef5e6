//! A temporary folder for parsers that read files, and a runtime for asynchronous parsers.

use std::cell::OnceCell;
use std::path::Path;

use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

thread_local! {
    static FOLDER: OnceCell<TempDir> = const { OnceCell::new() };
    static RUNTIME: OnceCell<Runtime> = const { OnceCell::new() };
}

/// Calls a function with a folder that belongs to this thread and is the same on each call.
pub(crate) fn in_folder<T>(call: impl FnOnce(&Path) -> T) -> T {
    FOLDER.with(|folder| call(folder.get_or_init(|| TempDir::new().expect("a folder")).path()))
}

/// Runs a future to completion.
pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    RUNTIME.with(|runtime| {
        runtime
            .get_or_init(|| Builder::new_current_thread().build().expect("a runtime"))
            .block_on(future)
    })
}
