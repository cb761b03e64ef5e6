//! Recall of episodes.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use context_core::message::is_blank;

use context_core::base::{DiagnosticCode, MemoryId, Severity, limits};
use context_core::memory::{
    MemoryScope, MemoryVector, RecallQuery, Recalled, RecalledMemory, StoredMemory,
};
use context_core::model::EmbedAs;
use context_core::store::{MemoryFind, MemoryHit, MemoryRecordStore};
use context_core::{CancelSignal, Diagnostic, Result};

use super::answer_cache::Answer;
use super::{EPISODE, Episodic};
use crate::cost;
use crate::rank::{Candidate, Question, Scorer, distinct, fuse};
use crate::review::RecallFilter;

const OPERATION: &str = "recall";

/// The number of records that are scored, by words and by meaning each.
const CANDIDATES: usize = 64;

/// The number of records that are read, by words and by meaning each, if some of them may not be
/// shown. So memories in quarantine do not crowd out others.
const FILTERED_CANDIDATES: usize = limits::MAX_PAGE;

/// The number of best candidates whose neighbouring records are read.
const WITH_NEIGHBOURS: usize = 24;

/// The number of neighbouring records before and behind each.
const NEIGHBOURS: usize = 2;

/// The largest memory, in records, that is also searched for related words. In a larger one the
/// question's own words find more records than can be read.
const RELATED_UP_TO: u64 = 100_000;

/// The longest part of a question that is used, in bytes from its end, where the request usually
/// is.
const LONGEST_QUESTION: usize = 4_000;

pub(super) async fn recall(
    memory: &Episodic,
    query: &RecallQuery,
    cancel: &CancelSignal,
) -> Result<Recalled> {
    query.scope.check(OPERATION)?;
    cancel.check(OPERATION)?;
    let store = memory.records(OPERATION)?;
    let state = memory.hot.state(&query.scope.user).await;
    let mut recalled = Recalled::default();
    // Read with each recall, so that a quarantine by another process holds at once.
    let filter = RecallFilter::read(&memory.records, &query.scope, query.least_trust).await?;
    let state = state ^ filter.hash();
    let answer = match memory.hot.get(store, query, state).await? {
        Some(answer) => answer,
        None => {
            let answer =
                Arc::new(answer(memory, query, &filter, cancel, &mut recalled.diagnostics).await?);
            // An answer without vectors, because the embedder failed, may be better next time, so
            // it is not cached.
            if recalled.diagnostics.is_empty() {
                memory.hot.put(query, state, Arc::clone(&answer)).await;
            }
            answer
        }
    };
    recalled.memories.clone_from(&answer.memories);
    drop_said(&mut recalled.memories, query);
    recalled.memories.truncate(memory.most);
    cost::fit(&mut recalled.memories, query.max_tokens);
    Ok(recalled)
}

/// Returns the best visible memories, more than the final limit.
async fn answer(
    memory: &Episodic,
    query: &RecallQuery,
    filter: &RecallFilter,
    cancel: &CancelSignal,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<Answer> {
    let store = memory.records(OPERATION)?;
    let start = query.text.len().saturating_sub(LONGEST_QUESTION);
    let text = &query.text[query.text.ceil_char_boundary(start)..];
    let question = Question::new(text, query.at);
    let vector = vector(memory, text, cancel, diagnostics).await;
    if question.words.is_empty() && vector.is_none() {
        return Ok(Answer { memories: Vec::new(), versions: Vec::new() });
    }
    let limit = if filter.takes_all() { CANDIDATES } else { FILTERED_CANDIDATES };
    let mut find = MemoryFind::new(query.scope.visible(), question.looked_for(), limit);
    find.kinds.push(EPISODE.to_owned());
    find.vector = vector;
    let found = store.find_memories(&find).await?;
    cancel.check(OPERATION)?;
    let mut candidates = taken(found.hits, filter);
    let mut related = None;
    find.words = question.related();
    find.vector = None;
    if found.bm25.texts <= RELATED_UP_TO && !find.words.is_empty() {
        let found = store.find_memories(&find).await?;
        cancel.check(OPERATION)?;
        let known: HashSet<u64> =
            candidates.iter().map(|candidate| candidate.hit.stored.place).collect();
        let mut others = taken(found.hits, filter);
        others.retain(|other| !known.contains(&other.hit.stored.place));
        candidates.append(&mut others);
        related = Some(found.bm25);
    }
    let scorer = Scorer::new(&question, &found.bm25, related.as_ref(), &candidates);
    scorer.score(&mut candidates);
    fuse(&mut candidates);
    read_beside(store, &mut candidates).await?;
    candidates.retain(|candidate| filter.takes(&candidate.hit.stored.record));
    scorer.score(&mut candidates);
    candidates.retain(|candidate| candidate.fits || candidate.hit.similarity.is_some());
    fuse(&mut candidates);
    // Some of the memories may be in the current conversation and are dropped later.
    let most = memory.most.saturating_add(query.recent.len().min(limits::MAX_PAGE));
    let kept = distinct(candidates, most);
    let versions = kept.iter().map(|candidate| candidate.hit.stored.version).collect();
    Ok(Answer { memories: kept.into_iter().map(remembered).collect(), versions })
}

/// Returns the records that may be shown as candidates, as many as are scored without a filter.
fn taken(hits: Vec<MemoryHit>, filter: &RecallFilter) -> Vec<Candidate> {
    let mut candidates: Vec<Candidate> = hits.into_iter().map(Candidate::new).collect();
    if !filter.takes_all() {
        candidates.retain(|candidate| filter.takes(&candidate.hit.stored.record));
        keep_best(&mut candidates);
    }
    candidates
}

/// Keeps as many of the best records, by words and by meaning each, as are scored without a filter.
/// The records stand in the order of their words.
fn keep_best(candidates: &mut Vec<Candidate>) {
    let mut near: Vec<f32> =
        candidates.iter().filter_map(|candidate| candidate.hit.similarity).collect();
    near.sort_by(|a, b| b.total_cmp(a));
    let least = near.get(CANDIDATES - 1).copied().unwrap_or(f32::NEG_INFINITY);
    let mut by_words = 0;
    candidates.retain(|candidate| {
        by_words += usize::from(candidate.hit.score > 0.0);
        let is_by_words = candidate.hit.score > 0.0 && by_words <= CANDIDATES;
        is_by_words || candidate.hit.similarity.is_some_and(|similarity| similarity >= least)
    });
}

/// Returns the vector of a question, if there is an embedder.
async fn vector(
    memory: &Episodic,
    text: &str,
    cancel: &CancelSignal,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<MemoryVector> {
    let embedder = memory.embedder.as_ref().filter(|_| !is_blank(text))?;
    if let Some(known) = memory.hot.vector(text).await {
        return Some(MemoryVector::new(embedder.name(), known));
    }
    let embedded = embedder.embed(&[text.to_owned()], EmbedAs::Query, cancel).await;
    let vector = match embedded {
        Ok(mut vectors) if vectors.len() == 1 => {
            vectors.pop().map(|values| MemoryVector::new(embedder.name(), values))
        }
        _ => None,
    };
    let vector = vector.filter(|vector| vector.check(OPERATION).is_ok());
    match &vector {
        Some(vector) => memory.hot.put_vector(text, Arc::clone(&vector.values)).await,
        None => diagnostics.push(Diagnostic::new(
            DiagnosticCode::MemoryProviderError,
            Severity::Warning,
            "memory",
            "the question could not be embedded: memories were found by their words alone",
        )),
    }
    vector
}

/// Reads the records next to the best candidates, scope by scope. The records that follow a
/// candidate become candidates too: they may be the answer to a question without sharing a word
/// with it.
async fn read_beside(store: &dyn MemoryRecordStore, candidates: &mut Vec<Candidate>) -> Result<()> {
    let mut by_scope: HashMap<MemoryScope, Vec<usize>> = HashMap::new();
    for (at, candidate) in candidates.iter().enumerate().take(WITH_NEIGHBOURS) {
        by_scope.entry(candidate.hit.stored.record.scope.clone()).or_default().push(at);
    }
    for (scope, places) in by_scope {
        let ids: Vec<MemoryId> =
            places.iter().map(|at| candidates[*at].hit.stored.record.id.clone()).collect();
        let beside = store.memory_neighbours(&scope, &ids, NEIGHBOURS).await?;
        for (at, beside) in places.into_iter().zip(beside) {
            candidates[at].beside = beside;
        }
    }
    let mut known: HashMap<u64, usize> = candidates
        .iter()
        .enumerate()
        .map(|(at, candidate)| (candidate.hit.stored.place, at))
        .collect();
    for at in 0..candidates.len().min(WITH_NEIGHBOURS) {
        // What is known of the records around it, in order.
        let mut around: Vec<StoredMemory> = candidates[at].before().rev().cloned().collect();
        around.push(candidates[at].hit.stored.clone());
        let behind: Vec<StoredMemory> = candidates[at].behind().cloned().collect();
        for next in behind {
            let place = *known.entry(next.place).or_insert_with(|| {
                candidates.push(Candidate::new(MemoryHit::new(next.clone(), 0.0, None)));
                candidates.len() - 1
            });
            if candidates[place].beside.is_empty() {
                candidates[place].beside.clone_from(&around);
            }
            around.push(next);
        }
    }
    Ok(())
}

fn remembered(candidate: Candidate) -> RecalledMemory {
    let record = candidate.hit.stored.record;
    let trust = record.trust();
    let mut memory = RecalledMemory::new(record.kind, record.text);
    memory.trust = trust;
    memory.id = Some(record.id);
    memory.scope = Some(record.scope);
    memory.source = record.source;
    memory.speaker = record.speaker;
    memory.at = Some(record.at);
    memory.score = candidate.score;
    memory
}

/// Removes memories that are in the current conversation.
fn drop_said(memories: &mut Vec<RecalledMemory>, query: &RecallQuery) {
    let Some(session) = &query.scope.session else { return };
    let is_here = |memory: &RecalledMemory| {
        memory.source.as_ref().is_some_and(|from| from.session == *session)
    };
    if !memories.iter().any(is_here) {
        return;
    }
    let messages: Vec<_> = query
        .recent
        .iter()
        .filter(|message| !message.is_synthetic())
        .map(|message| message.plain_text())
        .collect();
    memories.retain(|memory| {
        !(is_here(memory) && messages.iter().any(|message| message.contains(&memory.text)))
    });
}
