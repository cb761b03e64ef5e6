//! Finding memories by words and then by vectors.
//!
//! The lists of the words hold the places of their records, the number of occurrences, and the
//! length of each record. Records are therefore scored by their places alone, and only the hits are
//! read. Lists are read from the rarest word on, each from its newest block, up to [`BLOCKS`]
//! blocks. The answer is exact up to there, which means some twenty words among 100,000 records. In
//! larger memories, older blocks of the most common words are not read. The best records of the
//! other blocks are then scored again by all of their words.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap, HashMap};

use context_core::base::limits::EXACT_MEMORY_POSTINGS;
use context_core::store::{Bm25, MemoriesFound, MemoryFind, MemoryHit};

use crate::connections::shared::Shared;
use crate::error::Result;
use crate::memories;
use crate::memories::fields::{self, PLACES, RecordIndex, read_noted};
use crate::memories::lists::{BlockId, BlockReader, ListHead, ScopeHash, ScopeHeads, Scopes};

/// The maximum number of blocks read. Each block has at least one row, so at least as many rows as
/// required are read.
const BLOCKS: usize = 2048;
/// The maximum number of records that are scored again by all their words if some blocks were not
/// read: those with the best score by the words that are known.
const RESCORED: usize = 2000;
const _: () = assert!(RESCORED as u64 >= EXACT_MEMORY_POSTINGS && BLOCKS >= RESCORED);
/// The number of these records that are scored at once.
const BATCH: usize = 256;

/// A record with its score, by words or by similarity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(crate) fit: f64,
    pub(crate) place: u64,
    pub(crate) scope: usize,
}

impl Ord for Candidate {
    /// Orders by score, and by place for equal scores, so that newer records are greater.
    fn cmp(&self, other: &Self) -> Ordering {
        self.fit.total_cmp(&other.fit).then(self.place.cmp(&other.place))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}

/// The best of the offered candidates, up to a limit.
pub(crate) struct TopCandidates {
    most: usize,
    heap: BinaryHeap<std::cmp::Reverse<Candidate>>,
}

impl TopCandidates {
    pub(crate) fn of(most: usize) -> Self {
        Self { most, heap: BinaryHeap::with_capacity(most + 1) }
    }

    pub(crate) fn offer(&mut self, candidate: Candidate) {
        let is_full = self.heap.len() == self.most;
        if is_full && self.heap.peek().is_some_and(|least| least.0 >= candidate) {
            return;
        }
        self.heap.push(std::cmp::Reverse(candidate));
        if is_full {
            self.heap.pop();
        }
    }

    /// Returns the candidates, the best first.
    pub(crate) fn sorted(self) -> Vec<Candidate> {
        self.heap.into_sorted_vec().into_iter().map(|candidate| candidate.0).collect()
    }
}

pub(crate) async fn find(shared: &Shared, find: &MemoryFind) -> Result<MemoriesFound> {
    let scopes = Scopes::of(shared, &find.scopes);
    let mut terms: Vec<Vec<u8>> = find.words.iter().map(|word| fields::word(word)).collect();
    terms.extend(find.vector.as_ref().map(fields::vector));
    let known = scopes.heads(&find.kinds, &terms).await?;
    let bm25 = word_statistics(find, &known);
    let search = MemorySearch { find, scopes: &scopes, terms: &terms, known: &known, bm25: &bm25 };
    let fitting = search.by_words().await?;
    let mut hits: Vec<(Candidate, Option<f32>)> =
        fitting.into_iter().map(|hit| (hit, None)).collect();
    if let Some(vector) = &find.vector {
        let others = memories::vectors::compare(&search, vector, &mut hits).await?;
        let scored = search.scored(&others).await?;
        hits.extend(others.iter().zip(scored).filter_map(|(other, score)| {
            // Similarities have single precision.
            Some((Candidate { fit: score?, ..*other }, Some(other.fit as f32)))
        }));
    }
    let places: Vec<_> = hits.iter().map(|(hit, _)| (hit.scope, hit.place)).collect();
    let records = scopes.records(&places).await?;
    let hits = hits.into_iter().zip(records);
    let hits = hits.filter_map(|((hit, similarity), stored)| {
        Some(MemoryHit::new(stored?, hit.fit, similarity))
    });
    Ok(MemoriesFound::new(hits.collect(), bm25))
}

/// Returns the frequency of the words in these scopes, over all kinds of records. A word that
/// occurs twice in the search counts once.
fn word_statistics(find: &MemoryFind, known: &[ScopeHeads]) -> Bm25 {
    let mut bm25 = Bm25::new(0, 0, vec![0; find.words.len()]);
    for scope in known {
        bm25.texts += scope.records;
        bm25.words += scope.words;
        for kind in &scope.kinds {
            for (nth, found) in bm25.found.iter_mut().enumerate() {
                *found += head(kind.heads.get(nth))
                    .filter(|_| is_first(find, nth))
                    .map_or(0, |head| head.count);
            }
        }
    }
    bm25
}

fn head(head: Option<&Option<ListHead>>) -> Option<&ListHead> {
    head.and_then(Option::as_ref)
}

fn is_first(find: &MemoryFind, word: usize) -> bool {
    !find.words[..word].contains(&find.words[word])
}

/// A search for memories in the scopes of one user.
pub(crate) struct MemorySearch<'a> {
    pub(crate) find: &'a MemoryFind,
    pub(crate) scopes: &'a Scopes<'a>,
    pub(crate) terms: &'a [Vec<u8>],
    pub(crate) known: &'a [ScopeHeads],
    pub(crate) bm25: &'a Bm25,
}

/// The blocks of a search, by scope and block number: each word with its block.
type OpenedBlocks = BTreeMap<(usize, u32), Vec<(usize, BlockId)>>;

impl MemorySearch<'_> {
    /// Returns the lists of a term among records of the requested kinds.
    pub(crate) fn lists(
        &self,
        term: usize,
    ) -> impl Iterator<Item = ((usize, u32, usize), &ListHead)> {
        let kinds = self.known.iter().enumerate().flat_map(|(scope, known)| {
            known.kinds.iter().filter(|kind| kind.is_wanted).map(move |kind| (scope, kind))
        });
        kinds.filter_map(move |(scope, kind)| {
            Some(((scope, kind.number, term), head(kind.heads.get(term))?))
        })
    }

    /// Returns the best records by their words.
    async fn by_words(&self) -> Result<Vec<Candidate>> {
        let mut reader = BlockReader::of(self.scopes, self.terms);
        let (opened, is_whole) = self.open(&mut reader);
        reader.need(opened.values().flatten().map(|(_, at)| *at)).await?;
        let limit = self.find.limit;
        let mut best = TopCandidates::of(if is_whole { limit } else { RESCORED.max(limit) });
        self.score(&opened, &reader, &mut best);
        let mut best = best.sorted();
        if !is_whole {
            // Some words of these records are not known yet.
            let mut again = TopCandidates::of(limit);
            for some in best.chunks(BATCH) {
                for (hit, score) in some.iter().zip(self.scored(some).await?) {
                    score.into_iter().for_each(|fit| again.offer(Candidate { fit, ..*hit }));
                }
            }
            best = again.sorted();
        }
        Ok(best)
    }

    /// Returns the blocks to read, and whether these are all blocks.
    fn open(&self, reader: &mut BlockReader<'_>) -> (OpenedBlocks, bool) {
        let count = |word: usize| self.lists(word).map(|(_, head)| head.count).sum::<u64>();
        let mut order: Vec<(u64, usize)> = (0..self.find.words.len())
            .filter(|word| is_first(self.find, *word))
            .map(|word| (count(word), word))
            .collect();
        order.sort_unstable();
        let (mut opened, mut is_whole, mut left) = (OpenedBlocks::new(), true, BLOCKS);
        for (_, word) in order {
            let mut blocks = Vec::new();
            for ((scope, kind, term), head) in self.lists(word) {
                reader.know((scope, kind, term), head);
                let costs = usize::from(head.rows.is_none());
                blocks.extend(head.blocks.iter().map(|block| ((scope, kind, term, *block), costs)));
            }
            blocks.sort_unstable_by_key(|((.., block), _)| std::cmp::Reverse(*block));
            for (at, costs) in blocks {
                if costs > left {
                    is_whole = false;
                    continue;
                }
                left -= costs;
                opened.entry((at.0, at.3)).or_default().push((word, at));
            }
        }
        (opened, is_whole)
    }

    /// Offers all records of these blocks, scored by the words that were read.
    fn score(&self, opened: &OpenedBlocks, reader: &BlockReader<'_>, best: &mut TopCandidates) {
        let words = self.find.words.len();
        let places = usize::try_from(PLACES).unwrap_or_default();
        let mut counts = vec![0u32; places * words];
        let mut lengths = vec![0u64; places];
        let mut touched = Vec::with_capacity(places);
        for ((scope, block), lists) in opened {
            let start = u64::from(*block) * PLACES;
            for (word, at) in lists {
                for (place, noted) in reader.rows(*at) {
                    // A place outside of the block is damage, which the check finds.
                    let Some(nth) = usize::try_from(place - start).ok().filter(|nth| *nth < places)
                    else {
                        continue;
                    };
                    let (often, length) = read_noted(noted);
                    if lengths[nth] == 0 {
                        touched.push(nth);
                    }
                    lengths[nth] = length;
                    counts[nth * words + word] = often;
                }
            }
            for nth in touched.drain(..) {
                let counted = &mut counts[nth * words..][..words];
                let fit = self.bm25.score(lengths[nth], counted.iter().copied());
                best.offer(Candidate { fit, place: start + nth as u64, scope: *scope });
                counted.fill(0);
                lengths[nth] = 0;
            }
        }
    }

    /// Returns the scores of records by their words, with `None` for a record that was forgotten
    /// meanwhile.
    async fn scored(&self, of: &[Candidate]) -> Result<Vec<Option<f64>>> {
        if self.find.words.is_empty() {
            return Ok(vec![Some(0.0); of.len()]);
        }
        let nth: HashMap<&[u8], usize> = (0..self.find.words.len())
            .filter(|word| is_first(self.find, *word))
            .map(|word| (&self.terms[word][..], word))
            .collect();
        let fields: Vec<_> =
            of.iter().map(|hit| (hit.scope, format!("e{}", hit.place).into_bytes())).collect();
        let score = |about: Option<Vec<u8>>| {
            let Some(about) = about else { return Ok(None) };
            let about = RecordIndex::read(&about)?;
            let mut counts = vec![0; self.find.words.len()];
            for (term, noted) in about.terms {
                if let Some(word) = nth.get(term) {
                    counts[*word] = read_noted(noted).0;
                }
            }
            Ok(Some(self.bm25.score(about.words, counts)))
        };
        self.scopes.fields(ScopeHash::Records, &fields).await?.into_iter().map(score).collect()
    }
}
