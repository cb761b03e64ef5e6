//! Steps that remove data: deletion, retention, erasure.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use context_runtime::removal::{RemovalOptions, RemovalReport, delete_chat, erase_user};
use context_runtime::{CancelSignal, ChatRef, Clock, Retention, UserId};

use super::{World, chat_ref};
use crate::failure::{DayFailure, Invariant};
use crate::planted::PlantedDefect;
use crate::scene::{CHATS, ChatSlot, USERS, UserSlot};

/// The most times that a removal is tried. Each try uses up the faults that are armed for it.
const TRIES: usize = 40;
const DAY: Duration = Duration::from_secs(86_400);

impl World {
    pub(super) fn delete(&mut self, slot: ChatSlot) -> Result<String, DayFailure> {
        if self.chat(slot).is_none() {
            return Ok(String::new());
        }
        self.close(slot)?;
        self.delete_chat(slot.user, slot.chat_name())?;
        self.user(slot.user).chats.remove(slot.chat_name());
        self.turns.remove(&slot);
        Ok("deleted".to_owned())
    }

    /// Removes the copy of a chat, as far as there is one.
    pub(super) fn remove_copy(&mut self, slot: ChatSlot) -> Result<(), DayFailure> {
        self.delete_chat(slot.user, CHATS[CHATS.len() - 1])
    }

    fn delete_chat(&mut self, user: UserSlot, chat: &str) -> Result<(), DayFailure> {
        let reference = chat_ref(user, chat);
        for agents in &self.process()?.agents {
            agents.runtime().forget_chat(&reference);
            if let Some(ahead) = agents.background_summaries() {
                ahead.forget_chat(&reference);
            }
        }
        let now = self.around.clock.now();
        self.try_often("delete_chat", |process| {
            let (store, reference) = (Arc::clone(&process.store), reference.clone());
            process.run(async move {
                let options = RemovalOptions::at(now).find_copies(false);
                delete_chat(&*store, &reference, None, &options).await.map(drop)
            })
        })
    }

    /// Tries a removal until it succeeds. An error without a fault is not expected.
    fn try_often<T>(
        &mut self,
        place: &str,
        attempt: impl Fn(&super::Process) -> Option<context_runtime::Result<T>>,
    ) -> Result<T, DayFailure> {
        for _ in 0..TRIES {
            let process = self.process()?;
            let armed = process.faults.armed();
            match attempt(process) {
                None => self.crash()?,
                Some(Ok(done)) => return Ok(done),
                Some(Err(_)) if process.faults.armed() < armed => {}
                Some(Err(error)) => return Err(DayFailure::unexpected(place, error)),
            }
        }
        Err(DayFailure::unexpected(place, "it never succeeds"))
    }

    pub(super) fn retain(&mut self, user: UserSlot, chats: usize) -> Result<String, DayFailure> {
        self.close_all_of(user)?;
        let now = self.around.clock.now();
        let name = UserId::from(USERS[user]);
        let mut policy = Retention::default();
        policy.max_chats = Some(chats);
        policy.idle_chats = Some(DAY * 3);
        policy.idle_blobs = Some(DAY);
        policy.idle_streams = Some(DAY);
        let planned = std::cell::RefCell::new(BTreeSet::new());
        self.try_often("retain", |process| {
            let (store, name, policy) = (Arc::clone(&process.store), name.clone(), policy.clone());
            let planned = &planned;
            process.run(async move {
                let never = CancelSignal::never();
                for removal in policy.plan(&*store, &name, now, &never).await? {
                    if removal.branch.is_none() && removal.blobs + removal.streams == 0 {
                        planned.borrow_mut().insert(removal.chat.chat.to_string());
                    }
                    removal.run(&*store, now).await?;
                }
                Ok(())
            })
        })?;
        for chat in planned.into_inner() {
            let slot = CHATS.iter().position(|name| *name == chat);
            if let Some(slot) = slot.map(|number| ChatSlot { user, chat: number }) {
                self.turns.remove(&slot);
            }
            let reference = chat_ref(user, &chat);
            self.forget_chat(&reference)?;
            self.user(user).chats.remove(&chat);
        }
        let left = self.stored_chats(user)?.len();
        match left > chats.max(1) {
            true => {
                let text = format!("{left} chats of {} are left of {chats}", USERS[user]);
                Err(DayFailure::new(Invariant::Bounded, text))
            }
            false => Ok(format!("{left} chats are left")),
        }
    }

    fn forget_chat(&mut self, chat: &ChatRef) -> Result<(), DayFailure> {
        for agents in &self.process()?.agents {
            agents.runtime().forget_chat(chat);
            if let Some(ahead) = agents.background_summaries() {
                ahead.forget_chat(chat);
            }
        }
        Ok(())
    }

    /// Stores what the process still holds, as a program does before it removes something: what a
    /// capture or a recorder holds would come back.
    pub(super) fn flush(&mut self) -> Result<(), DayFailure> {
        for _ in 0..TRIES {
            let process = self.process()?;
            let (agents, own) = (process.agents.clone(), process.trajectories.clone());
            let flushed = process.run(async move {
                let mut is_stored = own.flush_all().await.is_ok();
                for agents in agents {
                    is_stored &= agents.runtime().flush().await.is_ok();
                    if let Some(trajectories) = agents.trajectories() {
                        is_stored &= trajectories.flush_all().await.is_ok();
                    }
                }
                is_stored
            });
            match flushed {
                Some(true) => break,
                // A fault, or a capture that is told of and gone: the next try shows it.
                Some(false) => {}
                None => self.crash()?,
            }
        }
        Ok(())
    }

    pub(super) fn erase(&mut self, user: UserSlot) -> Result<String, DayFailure> {
        self.close_all_of(user)?;
        let name = UserId::from(USERS[user]);
        let now = self.around.clock.now();
        let leaves = self.around.planted == Some(PlantedDefect::ErasesChatsOnly);
        self.flush()?;
        for agents in &self.process()?.agents {
            if let Some(ahead) = agents.background_summaries() {
                ahead.forget_user(&name);
            }
            agents.runtime().forget_user(&name);
        }
        let report: RemovalReport = match leaves {
            true => {
                for chat in self.stored_chats(user)? {
                    self.delete_chat(user, &chat)?;
                }
                RemovalReport::default()
            }
            false => self.try_often("erase_user", |process| {
                let (store, name) = (Arc::clone(&process.store), name.clone());
                process
                    .run(async move { erase_user(&*store, &name, &RemovalOptions::at(now)).await })
            })?,
        };
        if report.found > 0 {
            let text = format!("{} things of {} were found after", report.found, USERS[user]);
            return Err(DayFailure::new(Invariant::Erased, text));
        }
        let expected = self.user(user);
        let life = expected.life + 1;
        *expected = crate::expected::ExpectedUser { life, ..Default::default() };
        self.around.providers.begin_life(user, life);
        self.turns.retain(|slot, _| slot.user != user);
        self.vendors.retain(|slot, _| slot.user != user);
        self.scan()?;
        self.scan_file(user)?;
        Ok(format!("{} messages erased", report.messages))
    }

    /// An erased user is not in the file either.
    fn scan_file(&mut self, user: UserSlot) -> Result<(), DayFailure> {
        let life = self.user(user).life;
        let Ok(folder) = std::fs::read_dir(&self.around.folder) else { return Ok(()) };
        for file in folder.flatten() {
            let bytes = std::fs::read(file.path()).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            let left = crate::marker::markers(&text)
                .find(|marker| marker.user == user && marker.life < life);
            if let Some(left) = left {
                let name = file.file_name();
                let text = format!("{left} is in {}", name.display());
                return Err(DayFailure::new(Invariant::Erased, text));
            }
        }
        Ok(())
    }
}
