//! A place for parsers that read files, and a runtime for those that are asked to wait.

use std::cell::OnceCell;
use std::path::Path;

use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

thread_local! {
    static FOLDER: OnceCell<TempDir> = const { OnceCell::new() };
    static RUNTIME: OnceCell<Runtime> = const { OnceCell::new() };
}

/// Calls with a folder that is this thread's alone and the same each time.
pub(crate) fn in_folder<T>(call: impl FnOnce(&Path) -> T) -> T {
    FOLDER.with(|folder| call(folder.get_or_init(|| TempDir::new().expect("a folder")).path()))
}

/// Waits for what a parser promises.
pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    RUNTIME.with(|runtime| {
        runtime
            .get_or_init(|| Builder::new_current_thread().build().expect("a runtime"))
            .block_on(future)
    })
}
