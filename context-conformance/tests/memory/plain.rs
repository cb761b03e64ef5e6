//! An in-memory provider of whole messages, found by the words they share with a query, with
//! optional faults.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Mutex, MutexGuard};

use async_trait::async_trait;
use context_core::base::{MemoryId, limits};
use context_core::memory::{
    CapturedTurn, MemoriesForgotten, MemoryForget, MemoryRecord, MemoryScope, MemorySource,
    RecallQuery, Recalled, RecalledMemory,
};
use context_core::{CancelSignal, Error, ErrorKind, MemoryProvider, Result};
use context_store_kit::search;

/// The fault of a provider.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Wrong {
    Nothing,
    /// Not a fault: files everything under the user.
    FilesUnderTheUser,
    /// Not a fault: refuses scopes with an agent, as it must if it cannot isolate agents.
    RefusesSomeScopes,
    CapturesNothing,
    CrossesSessions,
    CrossesUsers,
    JoinsNames,
    ForgetsNothing,
    ForgetsWithoutMarks,
    ForgetsOnlyWhatIsKept,
    ForgetsAllUsers,
    /// Reports a removal on every call.
    Miscounts,
    KeepsTwice,
    KeepsTwiceBehindAFlush,
    /// Derives the id of a message from its turn.
    NamesByTurn,
    IgnoresFlush,
    IgnoresBudgets,
    WorstFirst,
    NoSources,
    ForgetsTimes,
    RefusesStrangeTexts,
    /// Marks a message as known as soon as it is captured, even if it is not stored.
    LosesDropped,
    /// Captures a turn and returns an error.
    TakesWhatItRefuses,
    ShowsContent,
}

struct Kept {
    record: MemoryRecord,
    words: Vec<String>,
}

#[derive(Default)]
struct Held {
    waiting: Vec<MemoryRecord>,
    kept: BTreeMap<(MemoryScope, MemoryId), Kept>,
    marks: BTreeSet<(MemoryScope, MemoryId)>,
    seen: BTreeSet<(MemoryScope, MemoryId)>,
    copies: usize,
}

pub(crate) struct Plain {
    wrong: Wrong,
    held: Mutex<Held>,
}

impl fmt::Debug for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut plain = f.debug_struct("Plain");
        if self.wrong == Wrong::ShowsContent {
            let texts: Vec<_> =
                self.held().kept.values().map(|kept| kept.record.text.clone()).collect();
            plain.field("texts", &texts);
        }
        plain.finish_non_exhaustive()
    }
}

impl Plain {
    pub(crate) fn new(wrong: Wrong) -> Self {
        Self { wrong, held: Mutex::default() }
    }

    fn is(&self, wrong: Wrong) -> bool {
        self.wrong == wrong
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().expect("no holder panics")
    }

    fn filed(&self, scope: &MemoryScope) -> MemoryScope {
        let mut filed = scope.clone();
        match self.wrong {
            Wrong::FilesUnderTheUser => filed = MemoryScope::new(scope.user.clone()),
            Wrong::CrossesUsers => filed.user = filed.user.as_str().to_lowercase().into(),
            Wrong::JoinsNames => {
                let names = (&filed.project.take(), &filed.agent.take());
                let joined = format!(
                    "{}|{}",
                    names.0.as_deref().unwrap_or(""),
                    names.1.as_deref().unwrap_or("")
                );
                filed.project = (joined != "|").then_some(joined);
            }
            _ => {}
        }
        filed
    }

    fn check(&self, operation: &'static str, scope: &MemoryScope) -> Result<()> {
        scope.check(operation)?;
        if self.is(Wrong::RefusesSomeScopes) && scope.agent.is_some() != scope.session.is_some() {
            return Err(Error::new(ErrorKind::Unsupported, operation, "agents go with sessions"));
        }
        Ok(())
    }

    /// Whether a record may be recalled from a scope.
    fn sees(&self, from: &MemoryScope, filed: &MemoryScope) -> bool {
        match self.wrong {
            Wrong::CrossesSessions => {
                let (mut from, mut filed) = (from.clone(), filed.clone());
                (from.session, filed.session) = (None, None);
                // Recalls without a session must stay correct.
                from.sees(&filed) && from.project.is_some()
            }
            _ => self.filed(from).sees(filed),
        }
    }

    fn taken(&self, turn: &CapturedTurn) {
        let scope = self.filed(&turn.scope);
        let mut held = self.held();
        for message in &turn.messages {
            let mut record = MemoryRecord::new(
                scope.clone(),
                message.id.as_str(),
                "episode",
                message.at.unwrap_or(turn.at),
                message.message.plain_text(),
            );
            record.source = turn
                .scope
                .session
                .clone()
                .map(|session| MemorySource::message(session, message.id.clone()));
            match self.wrong {
                Wrong::KeepsTwice => {
                    held.copies += 1;
                    record.id = format!("{}-{}", record.id, held.copies).into();
                }
                Wrong::NamesByTurn => record.id = format!("{}-{}", turn.turn, record.id).into(),
                Wrong::ForgetsTimes => record.at = turn.at,
                _ => {}
            }
            if self.is(Wrong::LosesDropped)
                && !held.seen.insert((record.scope.clone(), record.id.clone()))
            {
                continue;
            }
            held.waiting.push(record);
        }
    }
}

#[async_trait]
impl MemoryProvider for Plain {
    async fn recall(&self, query: &RecallQuery, cancel: &CancelSignal) -> Result<Recalled> {
        self.check("recall", &query.scope)?;
        tokio::task::yield_now().await;
        cancel.check("recall")?;
        let asked: BTreeSet<_> = search::words(&query.text).map(|word| word.folded).collect();
        let mut memories = Vec::new();
        for Kept { record, words } in self.held().kept.values() {
            if !self.sees(&query.scope, &record.scope) {
                continue;
            }
            let score = words.iter().filter(|word| asked.contains(*word)).count();
            if score == 0 {
                continue;
            }
            let mut memory = RecalledMemory::new(&record.kind, &record.text);
            memory.id = Some(record.id.clone());
            memory.scope = Some(if self.is(Wrong::JoinsNames) {
                query.scope.clone()
            } else {
                record.scope.clone()
            });
            memory.source = record.source.clone().filter(|_| !self.is(Wrong::NoSources));
            memory.at = Some(record.at);
            memory.score = score as f64;
            memories.push(memory);
        }
        memories.sort_by(|a, b| b.score.total_cmp(&a.score));
        if self.is(Wrong::WorstFirst) {
            memories.reverse();
        }
        if let Some(tokens) = query.max_tokens.filter(|_| !self.is(Wrong::IgnoresBudgets)) {
            let mut left = tokens * 4;
            memories.retain(|memory| {
                let fits = memory.text.len() as u64 <= left;
                left = if fits { left - memory.text.len() as u64 } else { 0 };
                fits
            });
        }
        Ok(Recalled::new(memories))
    }

    async fn capture(&self, turn: &CapturedTurn, cancel: &CancelSignal) -> Result<()> {
        self.check("capture", &turn.scope)?;
        for message in &turn.messages {
            limits::check_id("capture", "message", message.id.as_str())?;
        }
        if self.is(Wrong::RefusesStrangeTexts)
            && turn.messages.iter().any(|message| message.message.plain_text().contains('\0'))
        {
            return Err(Error::invalid("capture", "a text with a NUL"));
        }
        if cancel.is_cancelled() && self.is(Wrong::TakesWhatItRefuses) {
            self.taken(turn);
        }
        cancel.check("capture")?;
        if !self.is(Wrong::CapturesNothing) {
            self.taken(turn);
        }
        Ok(())
    }

    async fn flush(&self, cancel: &CancelSignal) -> Result<()> {
        if self.is(Wrong::IgnoresFlush) {
            return Ok(());
        }
        let waiting = if self.is(Wrong::LosesDropped) {
            std::mem::take(&mut self.held().waiting)
        } else {
            Vec::new()
        };
        tokio::task::yield_now().await;
        cancel.check("flush")?;
        let mut held = self.held();
        let held = &mut *held;
        for mut record in waiting.into_iter().chain(std::mem::take(&mut held.waiting)) {
            let mut name = (record.scope.clone(), record.id.clone());
            if self.is(Wrong::KeepsTwiceBehindAFlush) && held.kept.contains_key(&name) {
                held.copies += 1;
                record.id = format!("{}-{}", record.id, held.copies).into();
                name.1 = record.id.clone();
            }
            if !held.marks.contains(&name) {
                let words = search::words(&record.text).map(|word| word.folded).collect();
                held.kept.entry(name).or_insert(Kept { record, words });
            }
        }
        Ok(())
    }

    async fn forget(&self, forget: &MemoryForget) -> Result<MemoriesForgotten> {
        forget.check()?;
        if self.is(Wrong::ForgetsNothing) {
            return Ok(MemoriesForgotten::new(1, 0));
        }
        if !self.is(Wrong::ForgetsOnlyWhatIsKept) && !self.is(Wrong::ForgetsWithoutMarks) {
            let never = CancelSignal::never();
            self.flush(&never).await?;
        }
        let mut held = self.held();
        let held = &mut *held;
        let mut removed = u64::from(self.is(Wrong::Miscounts));
        let all = self.is(Wrong::ForgetsAllUsers);
        let gone = held.kept.extract_if(.., |_, kept| {
            let mut record = kept.record.clone();
            if all {
                record.scope.user = forget.scope().user.clone();
            }
            forget.takes(&record)
        });
        for (name, _) in gone {
            removed += 1;
            if forget.leaves_marks() && !self.is(Wrong::ForgetsWithoutMarks) {
                held.marks.insert(name);
            }
        }
        Ok(MemoriesForgotten::new(removed, 0))
    }
}
