//! A workspace of one file in memory, whose snapshots can be refused or never return.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use context_runtime::workspace::{NewSnapshot, Restored, Snapshot, Workspace, WorkspaceSnapshots};
use context_runtime::{
    ContextEngine, Error, ErrorKind, Result, SnapshotId, Store, assistant, user,
};

/// The fate of the next restore.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Fault {
    #[default]
    None,
    /// It is refused.
    Refused,
    /// So is every snapshot, because a file is too large.
    TooLarge,
    /// It fails after it changed files.
    Half,
    /// It restores the file and never returns, as if the process ended then.
    Lost,
}

#[derive(Debug, Default)]
struct State {
    file: String,
    snapshots: BTreeMap<String, (NewSnapshot, String)>,
    fault: Fault,
    taken: u32,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct FakeFiles(Arc<Mutex<State>>);

impl FakeFiles {
    pub(crate) fn write(&self, text: &str) {
        self.0.lock().unwrap().file = text.to_owned();
    }

    pub(crate) fn file(&self) -> String {
        self.0.lock().unwrap().file.clone()
    }

    pub(crate) fn fail(&self, fault: Fault) {
        self.0.lock().unwrap().fault = fault;
    }

    /// The contents of all snapshots, in order of their names.
    pub(crate) fn snapshots(&self) -> Vec<String> {
        self.0.lock().unwrap().snapshots.values().map(|(_, file)| file.clone()).collect()
    }

    pub(crate) async fn engine(&self, store: &Arc<dyn Store>) -> ContextEngine {
        let builder = ContextEngine::builder(Arc::clone(store)).user("ada").chat("c");
        builder.workspace(Workspace::new(self.clone())).open().await.unwrap()
    }

    /// Returns an engine with a checkpoint `start` at `u1` with the file "one", and `a1` with
    /// "two".
    pub(crate) async fn engine_at_two(&self, store: &Arc<dyn Store>) -> ContextEngine {
        let mut chat = self.engine(store).await;
        self.write("one");
        say(&mut chat, "u1").await;
        chat.checkpoint("start").await.unwrap();
        self.write("two");
        say(&mut chat, "a1").await;
        chat
    }

    /// Lets a move end after it has restored the file. Needs a paused clock.
    pub(crate) async fn lose<T>(&self, moving: impl Future<Output = T>) {
        self.fail(Fault::Lost);
        assert!(tokio::time::timeout(Duration::from_secs(1), moving).await.is_err());
        self.fail(Fault::None);
    }
}

/// Saves a message of the user, or of the assistant for ids that begin with `a`.
pub(crate) async fn say(chat: &mut ContextEngine, id: &str) {
    let message = if id.starts_with('a') { assistant(id) } else { user(id) };
    chat.set([message.with_id(id)]);
    chat.save().await.unwrap();
}

#[async_trait]
impl WorkspaceSnapshots for FakeFiles {
    async fn take(&self, new: &NewSnapshot) -> Result<Snapshot> {
        let mut state = self.0.lock().unwrap();
        if state.fault == Fault::TooLarge {
            return Err(Error::new(ErrorKind::Invalid, "take_snapshot", "a file is too large"));
        }
        state.taken += 1;
        let id = format!("s{:03}", state.taken);
        let file = state.file.clone();
        state.snapshots.insert(id.clone(), (new.clone(), file));
        Ok(Snapshot::new(id, new.key.as_str(), new.at))
    }

    async fn restore(&self, id: &SnapshotId, before: &NewSnapshot) -> Result<Restored> {
        let fault = self.0.lock().unwrap().fault;
        if fault == Fault::Refused {
            return Err(Error::new(ErrorKind::Conflict, "restore_snapshot", "refused"));
        }
        let file = self.0.lock().unwrap().snapshots.get(id.as_str()).map(|(_, file)| file.clone());
        let file = file.ok_or_else(|| Error::not_found("restore_snapshot", "snapshot", id))?;
        let before = self.take(before).await?;
        self.write(&file);
        if fault == Fault::Half {
            self.write("half of it");
            return Err(Error::new(ErrorKind::Unavailable, "restore_snapshot", "the disk is full"));
        }
        if fault == Fault::Lost {
            std::future::pending::<()>().await;
        }
        Ok(Restored::new(before, 1, 0))
    }

    async fn remove(&self, id: &SnapshotId) -> Result<bool> {
        Ok(self.0.lock().unwrap().snapshots.remove(id.as_str()).is_some())
    }

    async fn list(&self, owner: &str) -> Result<Vec<Snapshot>> {
        let state = self.0.lock().unwrap();
        let of_owner = state.snapshots.iter().filter(|(_, (new, _))| new.owner == owner);
        let list = of_owner.map(|(id, (new, _))| Snapshot::new(id.as_str(), &*new.key, new.at));
        Ok(list.collect())
    }
}
