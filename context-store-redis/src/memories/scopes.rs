//! The scopes of a user, and the counters of each.

use std::collections::HashMap;

use context_core::UserId;
use context_core::memory::MemoryScope;
use context_core::store::{Cursor, MemoryStats, Page};
use redis::cmd;

use crate::connections::shared::Shared;
use crate::error::{Fault, Result};
use crate::memories::fields::broken;
use crate::values::read_number;

/// The number of scopes read at once.
const BATCH: usize = 256;

/// Parses the name of a scope.
pub(crate) fn read_scope(name: &[u8]) -> Result<MemoryScope> {
    const STRANGE: Fault =
        Fault::Corrupt("a list of scopes has an entry that is not the name of a scope", None);
    let (user, project, agent, session): (String, Option<String>, Option<String>, Option<String>) =
        serde_json::from_slice(name).map_err(|_| STRANGE)?;
    let mut scope = MemoryScope::new(user);
    (scope.project, scope.agent, scope.session) = (project, agent, session.map(Into::into));
    if scope.key().as_bytes() == name { Ok(scope) } else { Err(STRANGE) }
}

/// Returns the names of all scopes of a user that have records or marks.
pub(crate) async fn names(shared: &Shared, user: &UserId) -> Result<Vec<Vec<u8>>> {
    let [_, scopes] = shared.keys.memories(user);
    shared.connection.run(cmd("ZRANGE").arg(scopes).arg(0).arg(-1)).await
}

/// Returns the scopes that lie within another one.
pub(crate) async fn scopes_within(
    shared: &Shared,
    covering: &MemoryScope,
) -> Result<Vec<MemoryScope>> {
    let mut scopes = Vec::new();
    for name in names(shared, &covering.user).await? {
        let scope = read_scope(&name)?;
        if covering.covers(&scope) {
            scopes.push(scope);
        }
    }
    Ok(scopes)
}

pub(crate) async fn stats(
    shared: &Shared,
    user: &UserId,
    limit: usize,
    after: Option<&Cursor>,
) -> Result<Page<MemoryStats>> {
    let [_, scopes] = shared.keys.memories(user);
    let mut start = after.map_or(b"-".to_vec(), |after| [b"(", after.as_str().as_bytes()].concat());
    let mut items = Vec::new();
    while items.len() <= limit {
        let mut range = cmd("ZRANGEBYLEX");
        range.arg(&scopes).arg(&start[..]).arg("+").arg("LIMIT").arg(0).arg(BATCH);
        let names: Vec<Vec<u8>> = shared.connection.run(&range).await?;
        let Some(last) = names.last() else { break };
        start = [b"(", &last[..]].concat();
        let read: Vec<MemoryScope> =
            names.iter().map(|name| read_scope(name)).collect::<Result<_>>()?;
        let mut pipe = redis::pipe();
        for scope in &read {
            let [_, _, _, counts, _] = shared.keys.memories_of(scope);
            pipe.cmd("HGETALL").arg(counts);
        }
        let counts: Vec<HashMap<Vec<u8>, Vec<u8>>> = shared.connection.pipe(&pipe).await?;
        for (scope, counts) in read.into_iter().zip(counts) {
            items.extend(ScopeCounts::read(&counts)?.stats(scope));
        }
    }
    let more = items.len() > limit;
    items.truncate(limit);
    let next =
        items.last().filter(|_| more).map(|last: &MemoryStats| Cursor::new(last.scope.key()));
    Ok(Page { items, next })
}

/// The counters of a scope.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ScopeCounts {
    pub(crate) records: u64,
    pub(crate) words: u64,
    pub(crate) vectors: u64,
    pub(crate) bytes: u64,
    /// The number and the count of records of each kind.
    pub(crate) kinds: HashMap<String, (u32, u64)>,
}

impl ScopeCounts {
    pub(crate) fn read(fields: &HashMap<Vec<u8>, Vec<u8>>) -> Result<Self> {
        let number = |field: &[u8]| fields.get(field).map_or(Ok(0), |value| read_number(value));
        let mut counts = Self {
            records: number(b"r")?,
            words: number(b"w")?,
            vectors: number(b"v")?,
            bytes: number(b"y")?,
            kinds: HashMap::new(),
        };
        for (field, value) in fields {
            let Some(kind) = field.strip_prefix(b"k") else { continue };
            let kind = String::from_utf8(kind.to_vec()).map_err(|_| broken())?;
            let many = number(&[b"c", &value[..]].concat())?;
            if many > 0 {
                let nth = u32::try_from(read_number(value)?).map_err(|_| broken())?;
                counts.kinds.insert(kind, (nth, many));
            }
        }
        Ok(counts)
    }

    /// Returns the statistics, or `None` without any record.
    fn stats(self, scope: MemoryScope) -> Option<MemoryStats> {
        if self.records == 0 {
            return None;
        }
        let mut stats = MemoryStats::new(scope);
        stats.kinds = self.kinds.into_iter().map(|(kind, (_, many))| (kind, many)).collect();
        (stats.vectors, stats.bytes) = (self.vectors, self.bytes);
        Some(stats)
    }
}
