//! A store of one file that is rewritten on each change, correctly or not.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use context_core::store::{Durability, FragmentStore, HistoryStore, SearchStore, StoreInfo};
use context_core::{ChatRef, Error, ErrorKind, Result, Store, UserId};
use context_store_kit::{ChatState, StateBacked, StateStore};

/// A fault in the way the file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// No fault: a new file replaces the old one.
    None,
    /// Overwrites the old file, in two parts.
    WritesInPlace,
    /// Acknowledges every change, but writes only every third one.
    AcknowledgesTooEarly,
    /// Writes an old state of the chat on every second change, and the current one on the next.
    LagsBehind,
}

impl Fault {
    pub(crate) const ALL: [Self; 4] =
        [Self::None, Self::WritesInPlace, Self::AcknowledgesTooEarly, Self::LagsBehind];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "sound",
            Self::WritesInPlace => "writes_in_place",
            Self::AcknowledgesTooEarly => "acknowledges_too_early",
            Self::LagsBehind => "lags_behind",
        }
    }
}

#[derive(Debug)]
pub(crate) struct FileStore(StateBacked<ChatFile>);

/// The chats of the file.
#[derive(Debug)]
struct ChatFile {
    file: PathBuf,
    fault: Fault,
    /// The contents of the file, once they were read.
    chats: Mutex<Option<Chats>>,
}

#[derive(Clone, Debug, Default)]
struct Chats {
    created: u64,
    by_ref: BTreeMap<ChatRef, Arc<ChatState>>,
    writes: u64,
}

impl FileStore {
    pub(crate) fn open(file: PathBuf, fault: Fault) -> Self {
        Self(StateBacked(ChatFile { file, fault, chats: Mutex::default() }))
    }
}

impl ChatFile {
    fn with<T>(&self, work: impl FnOnce(&mut Chats) -> Result<T>) -> Result<T> {
        let mut chats = self.chats.lock().unwrap_or_else(PoisonError::into_inner);
        if chats.is_none() {
            *chats = Some(self.read()?);
        }
        work(chats.get_or_insert_default())
    }

    fn read(&self) -> Result<Chats> {
        let mut chats = Chats::default();
        let Ok(bytes) = fs::read(&self.file) else { return Ok(chats) };
        let mut rest = &bytes[..];
        chats.created = number(&mut rest)?;
        for _ in 0..number(&mut rest)? {
            let length = number(&mut rest)? as usize;
            let (state, after) = rest.split_at_checked(length).ok_or_else(torn)?;
            let state = ChatState::from_bytes(state.to_vec())?;
            chats.by_ref.insert(state.chat().chat.clone(), Arc::new(state));
            rest = after;
        }
        Ok(chats)
    }

    fn write(&self, chats: &Chats) -> std::io::Result<()> {
        let mut bytes = chats.created.to_le_bytes().to_vec();
        bytes.extend((chats.by_ref.len() as u64).to_le_bytes());
        for state in chats.by_ref.values() {
            let state = state.to_bytes();
            bytes.extend((state.len() as u64).to_le_bytes());
            bytes.extend(state);
        }
        if self.fault == Fault::WritesInPlace {
            let (one, two) = bytes.split_at(bytes.len() / 2);
            let mut file = File::create(&self.file)?;
            file.write_all(one)?;
            // The time that writing a larger file takes.
            (0..20_000).for_each(|_| std::hint::spin_loop());
            return file.write_all(two);
        }
        let new = self.file.with_extension("new");
        fs::write(&new, bytes)?;
        fs::rename(new, &self.file)
    }
}

fn torn() -> Error {
    Error::new(ErrorKind::Corrupt, "read", "the file ends too early")
}

fn number(rest: &mut &[u8]) -> Result<u64> {
    let (number, after) = rest.split_first_chunk().ok_or_else(torn)?;
    *rest = after;
    Ok(u64::from_le_bytes(*number))
}

impl Store for FileStore {
    fn info(&self) -> StoreInfo {
        StoreInfo::new("file", Durability::ProcessCrash, false)
    }

    fn history(&self) -> &dyn HistoryStore {
        &self.0
    }

    fn fragments(&self) -> &dyn FragmentStore {
        &self.0
    }

    fn search(&self) -> Option<&dyn SearchStore> {
        Some(&self.0)
    }
}

#[async_trait]
impl StateStore for ChatFile {
    fn strongest(&self) -> Durability {
        Durability::ProcessCrash
    }

    async fn state(&self, chat: &ChatRef) -> Result<Option<Arc<ChatState>>> {
        self.with(|chats| Ok(chats.by_ref.get(chat).cloned()))
    }

    async fn states(&self, user: Option<&UserId>) -> Result<Vec<Arc<ChatState>>> {
        let theirs =
            |state: &&Arc<ChatState>| user.is_none_or(|user| state.chat().chat.user == *user);
        self.with(|chats| Ok(chats.by_ref.values().filter(theirs).cloned().collect()))
    }

    async fn change<T, F>(&self, chat: &ChatRef, change: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Option<ChatState>, &mut u64) -> Result<T> + Send + 'static,
    {
        self.with(|chats| {
            let mut after = chats.clone();
            let mut state = after.by_ref.remove(chat).map(Arc::unwrap_or_clone);
            let done = change(&mut state, &mut after.created)?;
            after.by_ref.extend(state.map(|state| (chat.clone(), Arc::new(state))));
            after.writes += 1;
            let writes = match self.fault {
                Fault::AcknowledgesTooEarly => after.writes % 3 == 1,
                _ => true,
            };
            if writes {
                let lags = self.fault == Fault::LagsBehind && after.writes % 2 == 0;
                let failed = |error| {
                    Error::new(ErrorKind::Unavailable, "change", "not written").with_source(error)
                };
                self.write(if lags { chats } else { &after }).map_err(failed)?;
            }
            *chats = after;
            Ok(done)
        })
    }
}
