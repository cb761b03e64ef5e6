//! Reading the lists of memory records block by block. The lists are described in
//! [`fields`](crate::memories::fields).

use std::collections::HashMap;

use context_core::memory::{MemoryScope, StoredMemory};
use redis::Value;

use crate::checksums;
use crate::connections::shared::Shared;
use crate::error::Result;
use crate::memories::fields::{PLACES, ROW, block, broken, take, u32_of};
use crate::scripts::MEMORY_HEADS;
use crate::scripts::reply::Reply;
use crate::values::read_number;

/// The number of fields requested at once.
const BATCH: usize = 256;

/// The scopes of a call without duplicates, and their keys.
pub(crate) struct Scopes<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) keys: Vec<[String; 5]>,
}

/// The kinds of data of a scope, in the order of its keys.
#[derive(Clone, Copy)]
pub(crate) enum ScopeHash {
    Records = 0,
    Vectors = 1,
    Index = 2,
}

/// The counters and heads of a scope.
pub(crate) struct ScopeHeads {
    pub(crate) records: u64,
    pub(crate) words: u64,
    pub(crate) kinds: Vec<KindHeads>,
}

/// The records of one kind in a scope.
pub(crate) struct KindHeads {
    pub(crate) name: String,
    pub(crate) number: u32,
    pub(crate) is_wanted: bool,
    /// The heads of its lists, by term.
    pub(crate) heads: Vec<Option<ListHead>>,
}

/// The head of a list.
#[derive(Clone, Default)]
pub(crate) struct ListHead {
    pub(crate) count: u64,
    /// The blocks in order. Empty for a list that was not requested.
    pub(crate) blocks: Vec<u32>,
    /// The rows of the only block.
    pub(crate) rows: Option<Vec<u8>>,
}

impl ListHead {
    pub(crate) fn read(head: &[u8]) -> Result<Self> {
        let mut rest = head;
        let [form] = take(&mut rest)?;
        let count = u64::from(u32_of(&mut rest)?);
        let mut blocks = Vec::with_capacity(rest.len() / 4);
        if form == b'i' && !rest.is_empty() {
            blocks.push(u32_of(&mut rest)?);
            return Ok(Self { count, blocks, rows: Some(rest.to_vec()) });
        }
        while !rest.is_empty() {
            blocks.push(u32_of(&mut rest)?);
        }
        Ok(Self { count, blocks, rows: None })
    }
}

/// Returns the places of a block, in order, with the data noted for each.
pub(crate) fn rows(block: u32, rows: &[u8]) -> impl DoubleEndedIterator<Item = (u64, [u8; 4])> {
    let start = u64::from(block) * PLACES;
    rows.as_chunks::<ROW>().0.iter().map(move |[a, b, noted @ ..]| {
        let offset = u64::from(u16::from_be_bytes([*a, *b]));
        (start + offset, *noted)
    })
}

/// Returns the number of the block that holds a place.
pub(crate) fn block_of(place: u64) -> u32 {
    u32::try_from(place / PLACES).unwrap_or(u32::MAX)
}

/// A block of a list: scope, number of the kind, index of the term, number of the block.
pub(crate) type BlockId = (usize, u32, usize, u32);

impl<'a> Scopes<'a> {
    /// A scope that is listed twice counts once.
    pub(crate) fn of(shared: &'a Shared, scopes: &[MemoryScope]) -> Self {
        let once = scopes.iter().enumerate().filter(|(at, scope)| !scopes[..*at].contains(scope));
        Self { shared, keys: once.map(|(_, scope)| shared.keys.memories_of(scope)).collect() }
    }

    /// Reads all scopes at one moment.
    pub(crate) async fn heads(
        &self,
        kinds: &[String],
        terms: &[Vec<u8>],
    ) -> Result<Vec<ScopeHeads>> {
        let mut call = MEMORY_HEADS.prepare_invoke();
        for [_, _, index, counts, _] in &self.keys {
            call.key(counts).key(index);
        }
        call.arg(kinds.len()).arg(kinds).arg(terms);
        let mut reply = Reply::of(self.shared.connection.ask::<Value>(&call).await?)?;
        let mut known = Vec::with_capacity(self.keys.len());
        while !reply.is_empty() {
            let mut scope = reply.list()?;
            let (records, words) = (scope.number()?, scope.number()?);
            let (mut list, mut kinds) = (scope.list()?, Vec::new());
            while !list.is_empty() {
                let name = String::from_utf8(list.bytes()?.into()).map_err(|_| broken())?;
                let number = u32::try_from(list.number()?).map_err(|_| broken())?;
                let is_wanted = list.number()? == 1;
                let mut of_terms = list.list()?;
                let head =
                    |_: &Vec<u8>| of_terms.maybe()?.map(|head| ListHead::read(&head)).transpose();
                let heads = terms.iter().map(head).collect::<Result<_>>()?;
                kinds.push(KindHeads { name, number, is_wanted, heads });
            }
            kinds.sort_unstable_by_key(|kind| kind.number);
            known.push(ScopeHeads { records, words, kinds });
        }
        Ok(known)
    }

    /// Returns fields of scopes, in their order.
    pub(crate) async fn fields(
        &self,
        kept: ScopeHash,
        fields: &[(usize, Vec<u8>)],
    ) -> Result<Vec<Option<Vec<u8>>>> {
        let mut order: Vec<usize> = (0..fields.len()).collect();
        order.sort_by_key(|at| fields[*at].0);
        let mut found: Vec<Option<Vec<u8>>> = vec![None; fields.len()];
        // The fields of a scope are read in parts, so that other clients wait for one part only.
        let parts: Vec<&[usize]> = order
            .chunk_by(|one, other| fields[*one].0 == fields[*other].0)
            .flat_map(|same| same.chunks(BATCH))
            .collect();
        for together in parts.chunks(8) {
            let mut pipe = redis::pipe();
            for part in together {
                let key = &self.keys[fields[part[0]].0][kept as usize];
                pipe.cmd("HMGET").arg(key);
                part.iter().for_each(|at| {
                    pipe.arg(&fields[*at].1[..]);
                });
            }
            let answers: Vec<Vec<Option<Vec<u8>>>> = self.shared.connection.pipe(&pipe).await?;
            for (at, value) in
                together.iter().flat_map(|part| part.iter()).zip(answers.into_iter().flatten())
            {
                found[*at] = value;
            }
        }
        Ok(found)
    }

    /// Returns the rows of blocks, in their order. A block that was removed meanwhile has no rows.
    pub(crate) async fn blocks(&self, terms: &[Vec<u8>], at: &[BlockId]) -> Result<Vec<Vec<u8>>> {
        let field =
            |(scope, kind, term, number): &BlockId| (*scope, block(*number, *kind, &terms[*term]));
        let fields: Vec<_> = at.iter().map(field).collect();
        let found = self.fields(ScopeHash::Index, &fields).await?;
        Ok(found.into_iter().map(Option::unwrap_or_default).collect())
    }

    /// Returns the records at places, in their order, with `None` for one that was forgotten
    /// meanwhile.
    pub(crate) async fn records(
        &self,
        places: &[(usize, u64)],
    ) -> Result<Vec<Option<StoredMemory>>> {
        let fields: Vec<_> = places
            .iter()
            .map(|(scope, place)| (*scope, format!("b{place}").into_bytes()))
            .collect();
        let found = self.fields(ScopeHash::Records, &fields).await?;
        let record = |(value, (_, place)): (Option<Vec<u8>>, &(usize, u64))| {
            value.map(|value| read_record(&value, *place)).transpose()
        };
        found.into_iter().zip(places).map(record).collect()
    }
}

/// Reads a stored record: its version, then its JSON.
pub(crate) fn read_record(value: &[u8], place: u64) -> Result<StoredMemory> {
    let space = value.iter().position(|byte| *byte == b' ').ok_or_else(broken)?;
    let version = read_number(&value[..space]).map_err(|_| broken())?;
    let record = serde_json::from_slice(checksums::opened("b", &value[space + 1..])?)
        .map_err(|_| broken())?;
    Ok(StoredMemory::new(record, version, place))
}

/// Lists whose blocks are read as they are needed.
pub(crate) struct BlockReader<'a> {
    scopes: &'a Scopes<'a>,
    terms: &'a [Vec<u8>],
    read: HashMap<BlockId, Vec<u8>>,
}

impl<'a> BlockReader<'a> {
    pub(crate) fn of(scopes: &'a Scopes<'a>, terms: &'a [Vec<u8>]) -> Self {
        Self { scopes, terms, read: HashMap::new() }
    }

    /// Stores the block that a head contains.
    pub(crate) fn know(&mut self, (scope, kind, term): (usize, u32, usize), head: &ListHead) {
        if let (Some(rows), Some(block)) = (&head.rows, head.blocks.first()) {
            self.read.insert((scope, kind, term, *block), rows.clone());
        }
    }

    /// Reads those of the blocks that were not read yet, together.
    pub(crate) async fn need(&mut self, at: impl IntoIterator<Item = BlockId>) -> Result<()> {
        let mut missing: Vec<BlockId> =
            at.into_iter().filter(|at| !self.read.contains_key(at)).collect();
        missing.sort_unstable();
        missing.dedup();
        let found = self.scopes.blocks(self.terms, &missing).await?;
        self.read.extend(missing.into_iter().zip(found));
        Ok(())
    }

    /// Returns the rows of a block that was requested before.
    pub(crate) fn rows(&self, at: BlockId) -> impl DoubleEndedIterator<Item = (u64, [u8; 4])> {
        rows(at.3, self.read.get(&at).map(Vec::as_slice).unwrap_or_default())
    }
}
