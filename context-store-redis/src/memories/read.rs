//! Reading memories: by id, by place, the newest first, and the neighbours of a record.

use std::collections::BTreeMap;

use context_core::base::MemoryId;
use context_core::memory::{MemoryScope, StoredMemory};
use context_core::store::{Cursor, MemoryList, Page};

use crate::connections::shared::Shared;
use crate::error::{Result, bad_cursor};
use crate::memories::fields::{self, broken};
use crate::memories::lists::{
    BlockId, BlockReader, KindHeads, ListHead, ScopeHash, Scopes, block_of,
};
use crate::values::read_number;

/// The number of blocks a listing reads at once.
const BLOCKS: usize = 4;

pub(crate) async fn list(shared: &Shared, list: &MemoryList) -> Result<Page<StoredMemory>> {
    let after = list.after.as_ref().map(|after| after.as_str().parse::<u64>()).transpose();
    let after = after.map_err(|_| bad_cursor("list_memories"))?;
    // The list of the most selective term. The other conditions are checked on each record.
    let term = match (&list.key, &list.source) {
        (Some(key), _) => fields::key(key),
        (None, Some(source)) => fields::source(source),
        (None, None) => fields::ALL.to_vec(),
    };
    let (scopes, terms) = (Scopes::of(shared, &list.scopes), [term]);
    let mut reader = BlockReader::of(&scopes, &terms);
    // Blocks, the newest first, each with the lists that have it.
    let mut blocks: BTreeMap<u32, Vec<BlockId>> = BTreeMap::new();
    let last = after.map_or(u32::MAX, block_of);
    for (scope, known) in scopes.heads(&list.kinds, &terms).await?.iter().enumerate() {
        for kind in known.kinds.iter().filter(|kind| kind.is_wanted) {
            let Some(Some(head)) = kind.heads.first() else { continue };
            reader.know((scope, kind.number, 0), head);
            for block in head.blocks.iter().filter(|block| **block <= last) {
                blocks.entry(*block).or_default().push((scope, kind.number, 0, *block));
            }
        }
    }
    let newest: Vec<Vec<BlockId>> = blocks.into_values().rev().collect();
    let mut items: Vec<StoredMemory> = Vec::new();
    for some in newest.chunks(BLOCKS) {
        reader.need(some.iter().flatten().copied()).await?;
        for block in some {
            let mut places: Vec<(u64, usize)> = block
                .iter()
                .flat_map(|at| reader.rows(*at).map(|(place, _)| (place, at.0)))
                .collect();
            places.retain(|(place, _)| after.is_none_or(|after| *place < after));
            places.sort_unstable_by_key(|(place, _)| std::cmp::Reverse(*place));
            for places in places.chunks(list.limit + 1) {
                let at: Vec<_> = places.iter().map(|(place, scope)| (*scope, *place)).collect();
                let records = scopes.records(&at).await?.into_iter().flatten();
                items.extend(records.filter(|stored| list.takes(&stored.record)));
                if items.len() > list.limit {
                    items.truncate(list.limit);
                    let next = items.last().map(|last| Cursor::new(last.place.to_string()));
                    return Ok(Page { items, next });
                }
            }
        }
    }
    Ok(Page { items, next: None })
}

pub(crate) async fn neighbours(
    shared: &Shared,
    scope: &MemoryScope,
    ids: &[MemoryId],
    each_side: usize,
) -> Result<Vec<Vec<StoredMemory>>> {
    let found = by_id(shared, scope, ids).await?;
    let mut terms: Vec<Vec<u8>> = Vec::new();
    // The place, the kind, and the term of the session of each record.
    let mut wanted: Vec<Option<(u64, String, usize)>> = Vec::with_capacity(ids.len());
    for stored in found {
        let Some((stored, source)) = stored.and_then(|stored| {
            let source = stored.record.source.clone()?;
            Some((stored, source))
        }) else {
            wanted.push(None);
            continue;
        };
        let term = fields::session(&source.session);
        let nth = terms.iter().position(|known| *known == term).unwrap_or(terms.len());
        if nth == terms.len() {
            terms.push(term);
        }
        wanted.push(Some((stored.place, stored.record.kind, nth)));
    }
    let mut answers: Vec<Vec<u64>> = vec![Vec::new(); ids.len()];
    let scopes = Scopes::of(shared, std::slice::from_ref(scope));
    // One script call takes a limited number of terms.
    for (part, terms) in terms.chunks(TERMS).enumerate() {
        let known = scopes.heads(&[], terms).await?;
        let kinds = known.first().map(|known| &known.kinds[..]).unwrap_or_default();
        let mut reader = BlockReader::of(&scopes, terms);
        let mut asked = Vec::new();
        for (nth, wanted) in wanted.iter().enumerate() {
            let Some((place, kind, term)) = wanted else { continue };
            let Some(term) = term.checked_sub(part * TERMS).filter(|term| *term < terms.len())
            else {
                continue;
            };
            let Some(list) = List::of(kinds, kind, term) else { continue };
            reader.know((0, list.kind, term), list.head);
            asked.push((nth, *place, list));
        }
        // The block of each record is read together with the others. Adjacent blocks are read only
        // if needed.
        reader
            .need(asked.iter().filter_map(|(_, place, list)| list.at(list.nth(*place).ok()?)))
            .await?;
        for (nth, place, list) in asked {
            answers[nth] = list.around(&mut reader, place, each_side).await?;
        }
    }
    let places: Vec<_> = answers.iter().flatten().map(|place| (0, *place)).collect();
    let mut records = scopes.records(&places).await?.into_iter();
    let mut neighbours = Vec::with_capacity(answers.len());
    for places in answers {
        neighbours.push(records.by_ref().take(places.len()).flatten().collect());
    }
    Ok(neighbours)
}

/// The number of terms in one script call.
const TERMS: usize = 256;

/// A list of one scope.
struct List<'a> {
    kind: u32,
    term: usize,
    head: &'a ListHead,
}

impl<'a> List<'a> {
    fn of(kinds: &'a [KindHeads], kind: &str, term: usize) -> Option<Self> {
        let kind = kinds.iter().find(|known| known.name == kind)?;
        let head = kind.heads.get(term)?.as_ref()?;
        Some(Self { kind: kind.number, term, head })
    }

    /// Returns the index of the block that holds a place.
    fn nth(&self, place: u64) -> Result<usize, usize> {
        self.head.blocks.binary_search(&block_of(place))
    }

    fn at(&self, nth: usize) -> Option<BlockId> {
        Some((0, self.kind, self.term, *self.head.blocks.get(nth)?))
    }

    /// Returns the places next to one, in order and without it. Empty if the place is not in the
    /// list.
    async fn around(
        &self,
        reader: &mut BlockReader<'_>,
        place: u64,
        each_side: usize,
    ) -> Result<Vec<u64>> {
        let Ok(start) = self.nth(place) else { return Ok(Vec::new()) };
        let (mut before, mut behind) = (Vec::new(), Vec::new());
        let mut nth = Some(start);
        while let Some(at) = nth.filter(|_| before.len() < each_side).and_then(|nth| self.at(nth)) {
            reader.need([at]).await?;
            let earlier = reader.rows(at).rev().map(|(at, _)| at).filter(|at| *at < place);
            before.extend(earlier.take(each_side - before.len()));
            nth = nth.and_then(|nth| nth.checked_sub(1));
        }
        let mut nth = start;
        while let Some(at) = self.at(nth).filter(|_| behind.len() < each_side) {
            reader.need([at]).await?;
            let later = reader.rows(at).map(|(at, _)| at).filter(|at| *at > place);
            behind.extend(later.take(each_side - behind.len()));
            nth += 1;
        }
        before.reverse();
        Ok([before, behind].concat())
    }
}

/// Returns records by their ids, in the order of the ids.
pub(crate) async fn by_id(
    shared: &Shared,
    scope: &MemoryScope,
    ids: &[MemoryId],
) -> Result<Vec<Option<StoredMemory>>> {
    let scopes = Scopes::of(shared, std::slice::from_ref(scope));
    let fields: Vec<_> =
        ids.iter().map(|id| (0, [b"i", id.as_str().as_bytes()].concat())).collect();
    let mut there = Vec::with_capacity(ids.len());
    let mut places = Vec::with_capacity(ids.len());
    for known in scopes.fields(ScopeHash::Records, &fields).await? {
        there.push(known.is_some());
        if let Some(known) = known {
            let space = known.iter().position(|byte| *byte == b' ').ok_or_else(broken)?;
            places.push((0, read_number(&known[..space])?));
        }
    }
    let mut found = scopes.records(&places).await?.into_iter();
    Ok(there
        .into_iter()
        .map(|is_there| is_there.then(|| found.next().flatten()).flatten())
        .collect())
}
