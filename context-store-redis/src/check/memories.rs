//! The check of memories: counters, lists and vectors must agree with the records.

use std::collections::{HashMap, HashSet};

use context_core::CancelSignal;
use context_core::memory::MemoryScope;
use context_core::store::{CheckReport, Finding};

use crate::connections::shared::Shared;
use crate::error::{Fault, Result};
use crate::keys::Keys;
use crate::memories::fields::{self, RecordIndex, TAG, broken};
use crate::memories::lists::{ListHead, read_record, rows};
use crate::memories::scopes::{ScopeCounts, read_scope};
use crate::values::read_number;
use crate::{check, checksums};

/// The number of vectors read at once.
const VECTORS_AT_ONCE: usize = 1024;

type Fields = HashMap<Vec<u8>, Vec<u8>>;
/// The rows of lists, by the name of the list.
type Rows = HashMap<Vec<u8>, Vec<(u64, [u8; 4])>>;

pub(crate) async fn check(
    shared: &Shared,
    cancel: &CancelSignal,
    report: &mut CheckReport,
) -> Result<()> {
    for key in shared.connection.scan(&shared.keys.pattern_of_counts()).await? {
        cancel.check("check")?;
        match check_scope(shared, &key, report).await {
            Err(Fault::Corrupt(problem, _)) => {
                report.findings.push(Finding::new(None, check::key(&key), problem))
            }
            result => result?,
        }
    }
    for key in shared.connection.scan(&shared.keys.pattern_of_memories()).await? {
        cancel.check("check")?;
        let Ok(key) = String::from_utf8(key) else { continue };
        // Both keys are read at one moment, because a scope may be forgotten meanwhile.
        let mut look = redis::pipe();
        look.atomic().cmd("EXISTS").arg(&key).cmd("EXISTS").arg(Keys::counts_beside(&key));
        if shared.connection.pipe::<(bool, bool)>(&look).await? == (true, false) {
            report.findings.push(Finding::new(
                None,
                check::key(key.as_bytes()),
                "the counters of the memories are missing",
            ));
        }
    }
    Ok(())
}

async fn check_scope(shared: &Shared, key: &[u8], report: &mut CheckReport) -> Result<()> {
    let name: Option<Vec<u8>> =
        shared.connection.run(redis::cmd("HGET").arg(key).arg("scope")).await?;
    let Some(name) = name else {
        let is_there: bool = shared.connection.run(redis::cmd("EXISTS").arg(key)).await?;
        // A missing key means that the scope was forgotten meanwhile.
        return if is_there {
            Err(Fault::Corrupt("the counters do not name their scope", None))
        } else {
            Ok(())
        };
    };
    let scope = read_scope(&name)?;
    let [records, of_vectors, index, counts, _] = shared.keys.memories_of(&scope);
    let about = format!("memories of {scope}");
    let mut add = |problem: &str| report.findings.push(Finding::new(None, &about, problem));
    if counts.as_bytes() != key {
        add("the memories are stored under the key of another scope");
        return Ok(());
    }
    let [_, scopes] = shared.keys.memories(&scope.user);
    // All keys of the scope are read at one moment.
    let mut look = redis::pipe();
    look.atomic()
        .cmd("HGETALL")
        .arg(records)
        .cmd("HKEYS")
        .arg(&of_vectors)
        .cmd("HGETALL")
        .arg(index);
    look.cmd("HGETALL").arg(counts).cmd("ZSCORE").arg(scopes).arg(&name);
    let (records, vectors, index, counts, listed): (
        Fields,
        HashSet<Vec<u8>>,
        Fields,
        Fields,
        Option<f64>,
    ) = shared.connection.pipe(&look).await?;
    if records.is_empty() && counts.is_empty() {
        return Ok(());
    }
    if listed.is_none() {
        add("the scope is missing from the list of scopes of its user");
    }
    let kinds = counts.keys().filter(|field| field.starts_with(b"k")).count() as u64;
    let last = counts.get(&b"n"[..]).map_or(Ok(0), |last| read_number(last))?;
    if kinds != last {
        add("the number of kinds differs from the number that was assigned last");
    }
    let counts = ScopeCounts::read(&counts)?;
    let (mut found, mut filed) = (ScopeCounts::default(), Rows::new());
    let (mut with_vector, mut fields) = (HashSet::new(), 0);
    for (id, known) in &records {
        let Some(id) = id.strip_prefix(b"i") else { continue };
        fields += 3;
        report.memories += 1;
        if let Err(problem) =
            record(&scope, id, known, &records, &mut found, &mut filed, &mut with_vector)
        {
            let Fault::Corrupt(problem, _) = problem else { return Err(problem) };
            let name = format!("memory {}", String::from_utf8_lossy(id));
            report.findings.push(Finding::new(None, name, problem));
        }
    }
    let mut add = |problem: &str| report.findings.push(Finding::new(None, &about, problem));
    for places in with_vector.iter().collect::<Vec<_>>().chunks(VECTORS_AT_ONCE) {
        let get = redis::cmd("HMGET").arg(&of_vectors).arg(places).clone();
        let found: Vec<Option<Vec<u8>>> = shared.connection.run(&get).await?;
        for (place, vector) in places.iter().zip(found) {
            // A missing vector was forgotten meanwhile, or is reported below.
            if vector.is_some_and(|vector| checksums::opened("v", &vector).is_err()) {
                add(&format!(
                    "the vector at place {} does not match its checksum",
                    place.escape_ascii()
                ));
            }
        }
    }
    if fields != records.len() {
        add("there are fields that belong to no record");
    }
    if with_vector != vectors {
        add("the stored vectors are not those that the records state");
    }
    if found != counts {
        add("the counters disagree with the records");
    }
    filed.values_mut().for_each(|rows| rows.sort_unstable());
    match lists(&index) {
        Ok(lists) if lists == filed => {}
        Ok(_) => add("the lists disagree with the records"),
        Err(_) => add("a list of records cannot be read"),
    }
    Ok(())
}

/// Checks a record, counts it, and notes the lists that it must be in.
fn record(
    scope: &MemoryScope,
    id: &[u8],
    known: &[u8],
    records: &Fields,
    found: &mut ScopeCounts,
    filed: &mut Rows,
    with_vector: &mut HashSet<Vec<u8>>,
) -> Result<()> {
    let mut numbers = known.split(|byte| *byte == b' ');
    let mut next = || numbers.next().ok_or_else(broken).and_then(read_number);
    let (place, version) = (next()?, next()?);
    let field = |of: char| records.get(format!("{of}{place}").as_bytes()).ok_or_else(broken);
    let stored = read_record(field('b')?, place)?;
    let about = RecordIndex::read(field('e')?)?;
    if stored.version != version
        || stored.record.id.as_str().as_bytes() != id
        || about.id != id
        || stored.record.scope != *scope
    {
        return Err(Fault::Corrupt(
            "the record disagrees with the id, place or version under which it is stored",
            None,
        ));
    }
    found.records += 1;
    found.words += about.words;
    found.bytes += about.bytes;
    found.vectors += u64::from(about.has_vector);
    found.kinds.entry(stored.record.kind.clone()).or_insert((about.kind, 0)).1 += 1;
    if about.has_vector {
        with_vector.insert(place.to_string().into_bytes());
    }
    let mut terms: HashSet<Vec<u8>> = HashSet::new();
    let mut tag = None;
    for (term, noted) in &about.terms {
        filed.entry(fields::list(about.kind, term)).or_default().push((place, *noted));
        match term.first() {
            Some(b'w') => {}
            Some(b'v') => tag = term.get(1..).filter(|tag| tag.len() == TAG),
            _ => drop(terms.insert(term.to_vec())),
        }
    }
    let mut expected: HashSet<Vec<u8>> = fields::terms(&stored.record, None).into_iter().collect();
    expected.retain(|term| !terms.remove(term));
    if !expected.is_empty() || !terms.is_empty() || tag.is_some() != about.has_vector {
        return Err(Fault::Corrupt("the index of the record disagrees with the record", None));
    }
    Ok(())
}

/// Returns all rows of all lists. Returns an error if a list disagrees with its head.
fn lists(index: &Fields) -> Result<Rows> {
    let mut all = Rows::new();
    let mut fields = 0;
    for (field, value) in index {
        let Some(name) = field.strip_prefix(b"h") else { continue };
        fields += 1;
        let (head, mut of_list) = (ListHead::read(value)?, Vec::new());
        for block in &head.blocks {
            let kept;
            let of_block = match &head.rows {
                Some(rows) => rows,
                None => {
                    fields += 1;
                    kept = [b"p", &block.to_be_bytes()[..], name].concat();
                    index.get(&kept).ok_or_else(broken)?
                }
            };
            of_list.extend(rows(*block, of_block));
        }
        if of_list.len() as u64 != head.count {
            return Err(broken());
        }
        all.insert(name.to_vec(), of_list);
    }
    if fields == index.len() { Ok(all) } else { Err(broken()) }
}
