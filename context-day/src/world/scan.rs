//! Reading everything that is stored, and the steps of a user that are no turns.

use std::collections::BTreeSet;
use std::sync::Arc;

use context_runtime::memory::{Cardinality, MemoryProvider, MemoryScope, RecallQuery, Statement};
use context_runtime::store::{ChatQuery, MemoryList, SearchQuery, StreamState};
use context_runtime::trajectory::export::write_prov_json;
use context_runtime::trajectory::{AgentRef, Trajectories};
use context_runtime::{CancelSignal, Clock, Message, Result, Role, Store, limits};

use super::{World, chat_ref};
use crate::failure::{DayFailure, Invariant};
use crate::marker::markers;
use crate::planted::PlantedDefect;
use crate::scene::{USERS, UserSlot};
use crate::texts::text;

/// The session of a program with a loop of its own.
const LOOP: &str = "loop";

impl World {
    /// Returns the names of a user's stored chats.
    pub(super) fn stored_chats(&mut self, user: UserSlot) -> Result<BTreeSet<String>, DayFailure> {
        let process = self.process()?;
        let raw = Arc::clone(&process.raw);
        let read = process.run(async move {
            let mut query = ChatQuery { limit: limits::MAX_PAGE, ..ChatQuery::new(USERS[user]) };
            let mut chats = BTreeSet::new();
            loop {
                let page = raw.history().list_chats(&query).await?;
                chats.extend(page.items.into_iter().map(|found| found.chat.chat.chat.to_string()));
                query.after = page.next;
                if query.after.is_none() {
                    return Result::<_>::Ok(chats);
                }
            }
        });
        match read {
            Some(Ok(chats)) => Ok(chats),
            Some(Err(error)) => Err(DayFailure::unexpected("list_chats", error)),
            None => Err(DayFailure::unexpected("list_chats", "it hung")),
        }
    }

    /// Reads everything that is stored, and checks whose it is.
    pub(super) fn scan(&mut self) -> Result<(), DayFailure> {
        // What cannot be read is told as what is wrong with the store.
        self.check_store()?;
        for (user, name) in USERS.iter().enumerate() {
            let stored = self.stored_chats(user)?;
            let chats = &self.user(user).chats;
            let others: Vec<_> =
                stored.iter().filter(|name| !chats.contains_key(*name)).cloned().collect();
            if let Some(other) = others.iter().find(|other| !self.user(user).adopt(other)) {
                let text = format!("{name}'s {other} is stored, and should not be");
                return Err(DayFailure::new(Invariant::Erased, text));
            }
            let expected: Vec<_> = self.user(user).chats.keys().cloned().collect();
            for chat in &expected {
                self.check_chat(user, chat, true)?;
            }
            for (place, said) in self.everything(user, &stored)? {
                self.check_owner(user, &place, &said)?;
            }
            self.check_facts(user)?;
        }
        Ok(())
    }

    fn check_owner(&mut self, user: UserSlot, place: &str, said: &str) -> Result<(), DayFailure> {
        let expected = self.user(user);
        for marker in markers(said) {
            let broken = |invariant, text: &str| {
                let name = USERS[user];
                Err(DayFailure::new(invariant, format_args!("{marker} {text} {place} of {name}")))
            };
            if marker.user != user {
                return broken(Invariant::Isolation, "is in");
            }
            if marker.life != expected.life {
                return broken(Invariant::Erased, "of an erased life is in");
            }
            if expected.redacted.contains(&marker) {
                return broken(Invariant::Erased, "was redacted and is in");
            }
        }
        Ok(())
    }

    /// Returns the stored texts of a user, each with its place.
    fn everything(
        &mut self,
        user: UserSlot,
        chats: &BTreeSet<String>,
    ) -> Result<Vec<(String, String)>, DayFailure> {
        let process = self.process()?;
        let raw = Arc::clone(&process.raw);
        let chats = chats.clone();
        let read = process.run(async move {
            let mut all = Vec::new();
            for chat in &chats {
                read_chat(&raw, user, chat, &mut all).await?;
            }
            read_rest(&raw, user, &mut all).await?;
            Result::<_>::Ok(all)
        });
        match read {
            Some(Ok(all)) => Ok(all),
            Some(Err(error)) => Err(DayFailure::unexpected("reading everything", error)),
            None => Err(DayFailure::unexpected("reading everything", "it hung")),
        }
    }

    fn check_facts(&mut self, user: UserSlot) -> Result<(), DayFailure> {
        let facts = self.user(user).facts.clone();
        if facts.is_empty() {
            return Ok(());
        }
        let process = self.process()?;
        let raw = Arc::clone(&process.raw);
        let read = process.run(async move { memory_texts(&raw, user).await });
        let Some(Ok(texts)) = read else {
            return Err(DayFailure::unexpected("memories", "they cannot be read"));
        };
        let stored: BTreeSet<_> =
            texts.iter().flat_map(|text| markers(text).collect::<Vec<_>>()).collect();
        match facts.iter().find(|fact| !stored.contains(fact)) {
            Some(lost) => {
                let text = format!("the fact {lost} of {} is lost", USERS[user]);
                Err(DayFailure::new(Invariant::Kept, text))
            }
            None => Ok(()),
        }
    }

    pub(super) fn check_store(&mut self) -> Result<String, DayFailure> {
        let process = self.process()?;
        let raw = Arc::clone(&process.raw);
        let read = process.run(async move {
            match raw.maintenance() {
                Some(maintenance) => maintenance.check(&CancelSignal::never()).await.map(Some),
                None => Ok(None),
            }
        });
        match read {
            Some(Ok(Some(report))) => match report.findings.first() {
                Some(finding) => {
                    Err(DayFailure::new(Invariant::Sound, format_args!("{finding:?}")))
                }
                None => Ok("sound".to_owned()),
            },
            Some(Ok(None)) => Ok(String::new()),
            Some(Err(error)) => Err(DayFailure::unexpected("check", error)),
            None => Err(DayFailure::unexpected("check", "it hung")),
        }
    }

    /// Stores a fact.
    pub(super) fn remember(&mut self, user: UserSlot) -> Result<String, DayFailure> {
        let marker = self.marker(user);
        let now = self.around.clock.now();
        let process = self.process()?;
        let (facts, armed) = (Arc::clone(&process.facts), process.faults.armed());
        let stated = process.run(async move {
            let many = Cardinality::Many;
            let fact = Statement::new(USERS[user], "likes", marker.to_string(), many, now);
            facts.state(&MemoryScope::new(USERS[user]), &[fact]).await
        });
        let is_hit = process.faults.armed() < armed;
        match stated {
            None => {
                self.crash()?;
                Ok("hung, and the process was killed".to_owned())
            }
            Some(Ok(_)) => {
                self.user(user).facts.insert(marker);
                Ok(format!("stored {marker}"))
            }
            Some(Err(error)) if is_hit => Ok(format!("failed: {error}")),
            Some(Err(error)) => Err(DayFailure::unexpected("state", error)),
        }
    }

    /// Records a round, as a program with a loop of its own does.
    pub(super) fn round(&mut self, user: UserSlot) -> Result<String, DayFailure> {
        let (question, answer) = (self.marker(user), self.marker(user));
        let holds = self.around.planted == Some(PlantedDefect::KeepsRoundsOpen);
        let process = self.process()?;
        let (trajectories, armed) = (process.trajectories.clone(), process.faults.armed());
        let agents = if holds { 1 + user as u32 + question.number as u32 } else { 0 };
        let recorded = process.run(async move {
            let agent = AgentRef::new(USERS[user], LOOP, agents);
            let round = trajectories.begin(&agent).await?;
            round.ask(text(question, 5)).await?;
            round.record(&Message::text(Role::Assistant, text(answer, 5))).await?;
            if !holds {
                round.finish().await?;
            }
            Ok::<_, context_runtime::trajectory::RecordError>(round)
        });
        let is_hit = process.faults.armed() < armed;
        match recorded {
            None => {
                self.crash()?;
                Ok("hung, and the process was killed".to_owned())
            }
            Some(Ok(round)) => {
                if holds {
                    self.held.push(round);
                }
                Ok("recorded".to_owned())
            }
            Some(Err(error)) if is_hit => Ok(format!("failed: {error}")),
            Some(Err(error)) => Err(DayFailure::unexpected("a round", error)),
        }
    }

    /// Searches messages and memories. Words of another user find nothing.
    pub(super) fn search(&mut self, user: UserSlot, about: UserSlot) -> Result<String, DayFailure> {
        let chats = &self.user(about).chats;
        let mut entries = chats.values().flat_map(|chat| chat.entries(&chat.active));
        let wanted = entries
            .find(|entry| entry.is_question && entry.state == crate::expected::EntryState::Stored);
        let Some(wanted) = wanted.map(|entry| entry.marker) else { return Ok(String::new()) };
        let process = self.process()?;
        let (raw, memories) = (Arc::clone(&process.raw), Arc::clone(&process.memories));
        let armed = process.faults.armed();
        let read = process.run(async move {
            let mut said = Vec::new();
            let mut hits = 0;
            if let Some(search) = raw.search() {
                let query = SearchQuery::new(USERS[user], wanted.to_string());
                for hit in search.search(&query).await?.items {
                    hits += 1;
                    said.push(format!("{hit:?}"));
                }
            }
            let scope = MemoryScope::new(USERS[user]).session("any");
            let query = RecallQuery::new(scope, text(wanted, 10));
            let recalled = memories.recall(&query, &CancelSignal::never()).await;
            let found = recalled.map(|found| found.memories).unwrap_or_default();
            said.extend(found.into_iter().map(|memory| memory.text));
            Result::<_>::Ok((hits, said))
        });
        let is_hit = process.faults.armed() < armed;
        let (hits, said) = match read {
            None => return self.crash().map(|()| "hung".to_owned()),
            Some(Ok(found)) => found,
            Some(Err(_)) if is_hit => return Ok("failed".to_owned()),
            Some(Err(error)) => return Err(DayFailure::unexpected("search", error)),
        };
        for said in said {
            self.check_owner(user, "what a search found", &said)?;
        }
        match (user == about, hits) {
            (true, 0) => {
                let text = format!("a search for {wanted} finds nothing");
                Err(DayFailure::new(Invariant::Kept, text))
            }
            (false, 1..) => {
                let text = format!("{} finds {wanted}", USERS[user]);
                Err(DayFailure::new(Invariant::Isolation, text))
            }
            _ => Ok(format!("{hits} found")),
        }
    }
}

/// Reads the messages, blobs and streams of a chat.
async fn read_chat(
    store: &Arc<dyn Store>,
    user: UserSlot,
    chat: &str,
    all: &mut Vec<(String, String)>,
) -> Result<()> {
    let reference = chat_ref(user, chat);
    let mut after = None;
    loop {
        let page =
            store.history().all_messages(&reference, limits::MAX_PAGE, after.as_ref()).await?;
        for placed in page.items {
            let body = String::from_utf8_lossy(placed.node.body().bytes()).into_owned();
            all.push((format!("message {} of {chat}", placed.node.id), body));
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    if let Some(blobs) = store.blobs() {
        for blob in blobs.blobs(&reference, limits::MAX_PAGE, None).await?.items {
            let read = blobs.read_blob(&reference, &blob.id, 0..blob.bytes, None).await?;
            let said = String::from_utf8_lossy(&read.unwrap_or_default()).into_owned();
            all.push((format!("a blob of {chat}"), said));
        }
    }
    if let Some(streams) = store.streams() {
        for stream in streams.streams(&reference, limits::MAX_PAGE, None).await?.items {
            let part = streams.read_stream(&reference, &stream.id, 0, limits::MAX_PAGE).await?;
            let chunks = part.map(|part| part.chunks).unwrap_or_default();
            let said: String =
                chunks.iter().map(|chunk| String::from_utf8_lossy(chunk).into_owned()).collect();
            all.push((format!("stream {} of {chat}", stream.id), said));
            let _state: StreamState = stream.state;
        }
    }
    Ok(())
}

async fn memory_texts(store: &Arc<dyn Store>, user: UserSlot) -> Result<Vec<String>> {
    let Some(memories) = store.memories() else { return Ok(Vec::new()) };
    let mut list = MemoryList::new(vec![MemoryScope::new(USERS[user])], limits::MAX_PAGE);
    let mut texts = Vec::new();
    loop {
        let page = memories.list_memories(&list).await?;
        texts.extend(page.items.iter().map(|stored| {
            let record = &stored.record;
            format!("{} {:?}", record.text, record)
        }));
        list.after = page.next;
        if list.after.is_none() {
            return Ok(texts);
        }
    }
}

/// Reads the memories and rounds of a user.
async fn read_rest(
    store: &Arc<dyn Store>,
    user: UserSlot,
    all: &mut Vec<(String, String)>,
) -> Result<()> {
    let texts = memory_texts(store, user).await?;
    all.extend(texts.into_iter().map(|text| ("a memory".to_owned(), text)));
    let trajectories = Trajectories::builder(Arc::clone(store)).build()?;
    let sessions = trajectories.sessions(&USERS[user].into(), None, limits::MAX_PAGE).await?;
    for session in sessions {
        let graph = trajectories.graph(USERS[user], session.clone()).await?;
        let mut document = Vec::new();
        if write_prov_json(&graph, &mut document).is_ok() {
            let said = String::from_utf8_lossy(&document).into_owned();
            all.push((format!("a round of {session}"), said));
        }
    }
    Ok(())
}
