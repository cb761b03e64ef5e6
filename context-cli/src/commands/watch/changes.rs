//! Waiting for changes: reported by the system, or looked for at intervals.

use std::path::PathBuf;
use std::time::Duration;

use notify::{RecursiveMode, Watcher};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout_at};

use crate::output::Output;

/// The time without further changes after which files are read.
const QUIET: Duration = Duration::from_millis(200);
/// The longest time that files are not read although they change.
const LONGEST: Duration = Duration::from_secs(2);
/// The interval if the system cannot report changes.
const FALLBACK: Duration = Duration::from_secs(2);

/// The source of changes of folders.
pub(super) struct Changes {
    reported: mpsc::Receiver<()>,
    /// The interval, if the system does not report changes.
    poll: Option<Duration>,
    /// Ends the reports when dropped.
    _watcher: Option<notify::RecommendedWatcher>,
}

impl Changes {
    /// Starts to watch folders. Without an interval, the system reports changes; if it cannot, a
    /// note says so and an interval of two seconds is used.
    pub(super) fn of(folders: &[PathBuf], poll: Option<Duration>, out: &Output) -> Self {
        let (changed, reported) = mpsc::channel(1);
        if poll.is_some() {
            return Self { reported, poll, _watcher: None };
        }
        match watcher(folders, changed) {
            Ok(watcher) => Self { reported, poll: None, _watcher: Some(watcher) },
            Err(error) => {
                out.note(format_args!(
                    "the system cannot report changes ({error}): looking every {} seconds",
                    FALLBACK.as_secs()
                ));
                Self { reported, poll: Some(FALLBACK), _watcher: None }
            }
        }
    }

    /// Waits until files may have changed and are not changing at the moment, at most for `longest`
    /// if it is given.
    pub(super) async fn next(&mut self, longest: Option<Duration>) {
        let interval = match (self.poll, longest) {
            (Some(poll), Some(longest)) => Some(poll.min(longest)),
            (poll, longest) => poll.or(longest),
        };
        let Some(interval) = interval else {
            self.settled().await;
            return;
        };
        tokio::select! {
            () = sleep(interval) => {}
            () = self.settled() => {}
        }
    }

    /// Waits for a change, and then until nothing changes for a while.
    async fn settled(&mut self) {
        if self.reported.recv().await.is_none() {
            // Nothing is reported.
            std::future::pending::<()>().await;
        }
        let end = Instant::now() + LONGEST;
        while let Ok(Some(())) =
            timeout_at(end.min(Instant::now() + QUIET), self.reported.recv()).await
        {
            if Instant::now() >= end {
                break;
            }
        }
    }
}

fn watcher(
    folders: &[PathBuf],
    changed: mpsc::Sender<()>,
) -> notify::Result<notify::RecommendedWatcher> {
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Reading a file is no change. After an error, such as lost events, all files are checked.
        if !event.is_ok_and(|event| event.kind.is_access()) {
            // If a change is noted already, this one is seen with it.
            let _ = changed.try_send(());
        }
    })?;
    for folder in folders {
        watcher.watch(folder, RecursiveMode::Recursive)?;
    }
    Ok(watcher)
}
