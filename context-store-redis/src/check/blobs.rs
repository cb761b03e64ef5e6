//! The check of blobs: the bytes must match their ids, and the reference counts the references.

use std::collections::{HashMap, HashSet};

use context_core::CancelSignal;
use context_core::base::BlobId;
use context_core::store::{CheckReport, Finding};
use redis::cmd;

use crate::blobs::PIECE;
use crate::checksums;
use crate::connections::shared::Shared;
use crate::error::Result;
use crate::keys::BLOB_KINDS;
use crate::values::read_number;

/// The number of times the blobs of a user are read before a finding counts. They are read in
/// parts, and others may write meanwhile.
const ATTEMPTS: u32 = 3;

/// The stored facts about a user's blobs.
#[derive(Default)]
struct BlobFacts {
    /// The stored size of each blob.
    sizes: HashMap<String, u64>,
    /// The number of pieces of each blob.
    pieces: HashMap<String, u64>,
    /// The stored reference count of each blob.
    counts: HashMap<String, u64>,
    /// The actual number of references to each blob.
    references: HashMap<String, u64>,
    /// References that are in only one of the two keys that hold references.
    unpaired: Vec<String>,
    /// Blobs with a reference that disagrees with its checksum.
    altered: Vec<String>,
}

pub(crate) async fn check(
    shared: &Shared,
    cancel: &CancelSignal,
    report: &mut CheckReport,
) -> Result<()> {
    let mut users = Vec::new();
    for kind in BLOB_KINDS {
        let tail = format!(":{kind}");
        for key in shared.connection.scan(&shared.keys.pattern_of_users(kind)).await? {
            users.extend(key.strip_suffix(tail.as_bytes()).map(<[u8]>::to_vec));
        }
    }
    users.sort();
    users.dedup();
    for user in users {
        cancel.check("check")?;
        let mut found = check_user(shared, &user).await?;
        for _ in 1..ATTEMPTS {
            if found.1.is_empty() {
                break;
            }
            found = check_user(shared, &user).await?;
        }
        report.blobs += found.0;
        report.findings.extend(found.1);
    }
    Ok(())
}

/// Checks the blobs under keys that begin in this way, and returns their number and the findings.
async fn check_user(shared: &Shared, user: &[u8]) -> Result<(u64, Vec<Finding>)> {
    let keys = BLOB_KINDS.map(|kind| [user, b":", kind.as_bytes()].concat());
    let known = known(shared, &keys).await?;
    let mut findings = Vec::new();
    let mut add = |id: &str, problem: &str| {
        findings.push(Finding::new(None, format!("blob {id}"), problem));
    };
    for stray in &known.unpaired {
        add(stray, "a reference is in only one of the two keys of references");
    }
    for id in &known.altered {
        add(id, "a reference does not match its checksum");
    }
    let referred: HashSet<&String> = known.references.keys().chain(known.counts.keys()).collect();
    for id in referred.into_iter().filter(|id| !known.sizes.contains_key(*id)) {
        add(id, "the blob has references, but no size");
    }
    for id in known.pieces.keys().filter(|id| !known.sizes.contains_key(*id)) {
        add(id, "the blob has bytes, but no size");
    }
    for (id, size) in &known.sizes {
        if known.counts.get(id) != known.references.get(id) || !known.counts.contains_key(id) {
            add(id, "the reference count differs from the number of references");
        }
        let pieces = size.div_ceil(PIECE as u64);
        let mut hash = blake3::Hasher::new();
        let mut length = 0;
        for n in 0..pieces {
            let get = cmd("HGET").arg(&keys[0]).arg(format!("{n}:{id}")).clone();
            let piece: Option<Vec<u8>> = shared.connection.run(&get).await?;
            let sealed = piece.unwrap_or_default();
            let piece = checksums::opened(&format!("{n}:{id}"), &sealed).unwrap_or_default();
            length += piece.len() as u64;
            hash.update(piece);
        }
        let whole = length == *size && known.pieces.get(id).copied().unwrap_or(0) == pieces;
        let named = id.parse().ok() == Some(BlobId::from_bytes(*hash.finalize().as_bytes()));
        if !whole || !named {
            add(id, "the bytes of the blob do not match its id");
        }
    }
    Ok((known.sizes.len() as u64, findings))
}

async fn known(shared: &Shared, [kept, references, order]: &[Vec<u8>; 3]) -> Result<BlobFacts> {
    let mut known = BlobFacts::default();
    let fields: Vec<String> = shared.connection.run(cmd("HKEYS").arg(kept)).await?;
    for field in fields {
        match (field.split_once(':'), field.strip_prefix('s')) {
            (Some((_, id)), _) => *known.pieces.entry(id.to_owned()).or_default() += 1,
            (None, Some(id)) => {
                let size: Option<Vec<u8>> =
                    shared.connection.run(cmd("HGET").arg(kept).arg(&field)).await?;
                known.sizes.insert(id.to_owned(), read_number(&size.unwrap_or_default())?);
            }
            (None, None) => known.unpaired.push(field),
        }
    }
    let ordered: HashSet<String> =
        shared.connection.run(cmd("ZRANGE").arg(order).arg(0).arg(-1)).await?;
    let fields: HashMap<String, Vec<u8>> =
        shared.connection.run(cmd("HGETALL").arg(references)).await?;
    let mut filed = HashSet::new();
    for (field, value) in &fields {
        if let Some(id) = field.strip_prefix('c') {
            known.counts.insert(id.to_owned(), read_number(value)?);
        } else {
            let member = field.strip_prefix('r').unwrap_or(field);
            let id = member.rsplit(':').next().unwrap_or(member);
            *known.references.entry(id.to_owned()).or_default() += 1;
            if checksums::text_of(field, value).is_err() {
                known.altered.push(id.to_owned());
            }
            filed.insert(member.to_owned());
        }
    }
    known.unpaired.extend(ordered.symmetric_difference(&filed).cloned());
    Ok(known)
}
