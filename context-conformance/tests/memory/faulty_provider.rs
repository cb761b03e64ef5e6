//! An in-memory provider of whole messages, found by the words they share with a query, with
//! optional faults.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Mutex, MutexGuard};

use async_trait::async_trait;
use context_core::base::{MemoryId, limits};
use context_core::memory::{
    CapturedTurn, MemoriesForgotten, MemoryForget, MemoryRecord, MemoryReview, MemoryScope,
    MemorySource, MemoryUse, Quarantine, RecallQuery, Recalled, RecalledMemory, Trust,
};
use context_core::{CancelSignal, Error, ErrorKind, MemoryProvider, Result};
use context_store_kit::search;

/// The fault of a provider.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fault {
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
    /// Recalls memories of any class, whatever was asked for.
    IgnoresTrust,
    IgnoresQuarantine,
    ReleasesNothing,
    /// Records each use under its turn alone, so that it is found once.
    LosesUses,
    ShowsContent,
}

struct StoredRecord {
    record: MemoryRecord,
    words: Vec<String>,
}

#[derive(Default)]
struct ProviderState {
    waiting: Vec<MemoryRecord>,
    kept: BTreeMap<(MemoryScope, MemoryId), StoredRecord>,
    marks: BTreeSet<(MemoryScope, MemoryId)>,
    seen: BTreeSet<(MemoryScope, MemoryId)>,
    copies: usize,
    quarantines: Vec<Quarantine>,
    uses: Vec<MemoryUse>,
}

pub(crate) struct FaultyProvider {
    fault: Fault,
    state: Mutex<ProviderState>,
}

impl fmt::Debug for FaultyProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut output = f.debug_struct("FaultyProvider");
        if self.fault == Fault::ShowsContent {
            let texts: Vec<_> =
                self.state().kept.values().map(|kept| kept.record.text.clone()).collect();
            output.field("texts", &texts);
        }
        output.finish_non_exhaustive()
    }
}

impl FaultyProvider {
    pub(crate) fn new(fault: Fault) -> Self {
        Self { fault, state: Mutex::default() }
    }

    fn is(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    fn state(&self) -> MutexGuard<'_, ProviderState> {
        self.state.lock().expect("no holder panics")
    }

    fn filed(&self, scope: &MemoryScope) -> MemoryScope {
        let mut filed = scope.clone();
        match self.fault {
            Fault::FilesUnderTheUser => filed = MemoryScope::new(scope.user.clone()),
            Fault::CrossesUsers => filed.user = filed.user.as_str().to_lowercase().into(),
            Fault::JoinsNames => {
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
        if self.is(Fault::RefusesSomeScopes) && scope.agent.is_some() != scope.session.is_some() {
            return Err(Error::new(ErrorKind::Unsupported, operation, "agents go with sessions"));
        }
        Ok(())
    }

    /// Whether a record may be recalled from a scope.
    fn sees(&self, from: &MemoryScope, filed: &MemoryScope) -> bool {
        match self.fault {
            Fault::CrossesSessions => {
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
        let mut state = self.state();
        for message in &turn.messages {
            let mut record = MemoryRecord::new(
                scope.clone(),
                message.id.as_str(),
                "episode",
                message.at.unwrap_or(turn.at),
                message.message.plain_text(),
            );
            record.set_trust(Trust::of(&message.message));
            record.source = turn
                .scope
                .session
                .clone()
                .map(|session| MemorySource::message(session, message.id.clone()));
            match self.fault {
                Fault::KeepsTwice => {
                    state.copies += 1;
                    record.id = format!("{}-{}", record.id, state.copies).into();
                }
                Fault::NamesByTurn => record.id = format!("{}-{}", turn.turn, record.id).into(),
                Fault::ForgetsTimes => record.at = turn.at,
                _ => {}
            }
            if self.is(Fault::LosesDropped)
                && !state.seen.insert((record.scope.clone(), record.id.clone()))
            {
                continue;
            }
            state.waiting.push(record);
        }
    }
}

#[async_trait]
impl MemoryProvider for FaultyProvider {
    async fn recall(&self, query: &RecallQuery, cancel: &CancelSignal) -> Result<Recalled> {
        self.check("recall", &query.scope)?;
        tokio::task::yield_now().await;
        cancel.check("recall")?;
        let asked: BTreeSet<_> = search::words(&query.text).map(|word| word.folded).collect();
        let mut memories = Vec::new();
        let state = self.state();
        for StoredRecord { record, words } in state.kept.values() {
            if !self.sees(&query.scope, &record.scope) {
                continue;
            }
            let is_low = query.least_trust.is_some_and(|least| record.trust() < Some(least));
            if is_low && !self.is(Fault::IgnoresTrust) {
                continue;
            }
            if state.quarantines.iter().any(|quarantine| quarantine.takes(record)) {
                continue;
            }
            let score = words.iter().filter(|word| asked.contains(*word)).count();
            if score == 0 {
                continue;
            }
            let mut memory = RecalledMemory::new(&record.kind, &record.text);
            memory.id = Some(record.id.clone());
            memory.scope = Some(if self.is(Fault::JoinsNames) {
                query.scope.clone()
            } else {
                record.scope.clone()
            });
            memory.source = record.source.clone().filter(|_| !self.is(Fault::NoSources));
            (memory.at, memory.trust) = (Some(record.at), record.trust());
            memory.score = score as f64;
            memories.push(memory);
        }
        memories.sort_by(|a, b| b.score.total_cmp(&a.score));
        if self.is(Fault::WorstFirst) {
            memories.reverse();
        }
        if let Some(tokens) = query.max_tokens.filter(|_| !self.is(Fault::IgnoresBudgets)) {
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
        if self.is(Fault::RefusesStrangeTexts)
            && turn.messages.iter().any(|message| message.message.plain_text().contains('\0'))
        {
            return Err(Error::invalid("capture", "a text with a NUL"));
        }
        if cancel.is_cancelled() && self.is(Fault::TakesWhatItRefuses) {
            self.taken(turn);
        }
        cancel.check("capture")?;
        if !self.is(Fault::CapturesNothing) {
            self.taken(turn);
        }
        Ok(())
    }

    async fn flush(&self, cancel: &CancelSignal) -> Result<()> {
        if self.is(Fault::IgnoresFlush) {
            return Ok(());
        }
        let waiting = if self.is(Fault::LosesDropped) {
            std::mem::take(&mut self.state().waiting)
        } else {
            Vec::new()
        };
        tokio::task::yield_now().await;
        cancel.check("flush")?;
        let mut state = self.state();
        let state = &mut *state;
        for mut record in waiting.into_iter().chain(std::mem::take(&mut state.waiting)) {
            let mut name = (record.scope.clone(), record.id.clone());
            if self.is(Fault::KeepsTwiceBehindAFlush) && state.kept.contains_key(&name) {
                state.copies += 1;
                record.id = format!("{}-{}", record.id, state.copies).into();
                name.1 = record.id.clone();
            }
            if !state.marks.contains(&name) {
                let words = search::words(&record.text).map(|word| word.folded).collect();
                state.kept.entry(name).or_insert(StoredRecord { record, words });
            }
        }
        Ok(())
    }

    async fn forget(&self, forget: &MemoryForget) -> Result<MemoriesForgotten> {
        forget.check()?;
        if self.is(Fault::ForgetsNothing) {
            return Ok(MemoriesForgotten::new(1, 0));
        }
        if !self.is(Fault::ForgetsOnlyWhatIsKept) && !self.is(Fault::ForgetsWithoutMarks) {
            let never = CancelSignal::never();
            self.flush(&never).await?;
        }
        let mut state = self.state();
        let state = &mut *state;
        let mut removed = u64::from(self.is(Fault::Miscounts));
        let all = self.is(Fault::ForgetsAllUsers);
        let gone = state.kept.extract_if(.., |_, kept| {
            let mut record = kept.record.clone();
            if all {
                record.scope.user = forget.scope().user.clone();
            }
            forget.takes(&record)
        });
        for (name, _) in gone {
            removed += 1;
            if forget.leaves_marks() && !self.is(Fault::ForgetsWithoutMarks) {
                state.marks.insert(name);
            }
        }
        Ok(MemoriesForgotten::new(removed, 0))
    }

    fn review(&self) -> Option<&dyn MemoryReview> {
        Some(self)
    }
}

#[async_trait]
impl MemoryReview for FaultyProvider {
    async fn quarantine(&self, quarantine: &Quarantine) -> Result<()> {
        quarantine.check()?;
        if !self.is(Fault::IgnoresQuarantine) {
            let mut state = self.state();
            state.quarantines.retain(|known| known.id() != quarantine.id());
            state.quarantines.push(quarantine.clone());
        }
        Ok(())
    }

    async fn release(&self, scope: &MemoryScope, id: &MemoryId) -> Result<bool> {
        let quarantines = &mut self.state().quarantines;
        let before = quarantines.len();
        if !self.is(Fault::ReleasesNothing) {
            quarantines.retain(|known| known.scope != *scope || known.id() != *id);
        }
        Ok(quarantines.len() < before)
    }

    async fn quarantined(&self, scope: &MemoryScope) -> Result<Vec<Quarantine>> {
        let quarantines = self.state().quarantines.clone();
        Ok(quarantines.into_iter().filter(|known| scope.sees(&known.scope)).collect())
    }

    async fn record_use(&self, memory_use: &MemoryUse) -> Result<()> {
        memory_use.check()?;
        let uses = &mut self.state().uses;
        if self.is(Fault::LosesUses) {
            uses.clear();
        }
        if !uses.contains(memory_use) {
            uses.push(memory_use.clone());
        }
        Ok(())
    }

    async fn uses(&self, scope: &MemoryScope, id: &MemoryId) -> Result<Vec<MemoryUse>> {
        let named = (scope.clone(), id.clone());
        let of_memory = |known: &MemoryUse| {
            known
                .memories
                .contains(&named)
                .then(|| MemoryUse::new(&known.session, &known.turn, known.at, vec![named.clone()]))
        };
        let mut uses: Vec<_> = self.state().uses.iter().filter_map(of_memory).collect();
        uses.sort_by_key(|known| std::cmp::Reverse(known.at));
        Ok(uses)
    }
}
