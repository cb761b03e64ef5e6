//! Upgrading a store of layout 1, which had no checksums. Each hash is converted atomically and
//! gets another name. An interrupted upgrade can be continued, and a program that knows only layout
//! 1 finds no key to write to. A store of layout 2 needs no conversion: no key has an old name.

use context_store_kit::pack;
use redis::cmd;

use crate::chat::fields::ChatCounts;
use crate::checksums::{seal, summed};
use crate::connections::Connection;
use crate::connections::shared::ATTEMPTS;
use crate::error::{Fault, Result};
use crate::keys::Keys;
use crate::rounds::encoding::seal_edges;
use crate::scripts::{UPGRADE, UPGRADE_SOME};
use crate::values::read_number;

type Fields = Vec<(Vec<u8>, Vec<u8>)>;
/// Returns the value of a field in the new layout, or `None` if it stays as it is.
type Rewrite = fn(&str, &[u8]) -> Option<Vec<u8>>;

/// The old name of the keys of vectors.
const VECTORS: &str = "vectors";
const VECTORS_AT_ONCE: usize = 256;

/// The kinds of keys whose values have changed: the old kind, the new kind, and whether a name
/// follows.
const KINDS: [(&str, &str, bool, Rewrite); 5] = [
    ("chat", crate::keys::CHAT, false, of_chat),
    ("round", crate::keys::ROUND, true, of_round),
    ("memory", crate::keys::RECORDS, true, of_memory),
    ("blobs", crate::keys::BLOBS, false, of_blobs),
    ("references", crate::keys::REFERENCES, false, of_reference),
];

/// Upgrades all keys of a store.
pub(crate) async fn all(connection: &Connection, keys: &Keys) -> Result<()> {
    for (old, new, named, rewrite) in KINDS {
        let end = if named { format!("{old}:*") } else { old.to_owned() };
        for (key, renamed) in named_anew(connection, keys, &end, old, new).await? {
            hash(connection, &key, &renamed, rewrite).await?;
        }
    }
    let (old, new) = (VECTORS, crate::keys::VECTORS);
    for (key, renamed) in named_anew(connection, keys, &format!("{old}:*"), old, new).await? {
        vectors(connection, &key, &renamed).await?;
    }
    Ok(())
}

/// Returns the keys of an old kind, each with its new name.
async fn named_anew(
    connection: &Connection,
    keys: &Keys,
    end: &str,
    old: &str,
    new: &str,
) -> Result<Vec<(String, String)>> {
    let named = connection.scan(&keys.pattern_of_users(end)).await?.into_iter().filter_map(|key| {
        let key = String::from_utf8(key).ok()?;
        let (tag, rest) = key.split_once("}:")?;
        let renamed = format!("{tag}}}:{new}{}", rest.get(old.len()..)?);
        Some((key, renamed))
    });
    Ok(named.collect())
}

/// Moves vectors to their new key in batches, because there may be gigabytes of them.
async fn vectors(connection: &Connection, key: &str, renamed: &str) -> Result<()> {
    let places: Vec<Vec<u8>> = connection.run(cmd("HKEYS").arg(key)).await?;
    for places in places.chunks(VECTORS_AT_ONCE) {
        let found: Vec<Option<Vec<u8>>> = connection.run(cmd("HMGET").arg(key).arg(places)).await?;
        let mut call = UPGRADE_SOME.key(key);
        call.key(renamed);
        for (place, vector) in places.iter().zip(found) {
            if let Some(vector) = vector {
                call.arg(place).arg(&vector[..]).arg(seal("v", vector));
            }
        }
        let _moved: u8 = connection.call(&call).await?;
    }
    Ok(())
}

async fn hash(connection: &Connection, key: &str, renamed: &str, rewrite: Rewrite) -> Result<()> {
    for _ in 0..ATTEMPTS {
        let fields: Fields = connection.run(cmd("HGETALL").arg(key)).await?;
        if fields.is_empty() {
            return Ok(());
        }
        let mut call = UPGRADE.key(key);
        call.key(renamed).arg(fields.len());
        let (mut messages, mut counts) = (0, None);
        for (field, value) in &fields {
            // All fields that change have names in UTF-8.
            let Ok(name) = std::str::from_utf8(field) else { continue };
            if name == "a" {
                counts = Some(value);
            }
            if let Some(new) = rewrite(name, value) {
                messages += records(name, value);
                call.arg(field).arg(value).arg(new);
            }
        }
        if let Some(counts) = counts.filter(|_| renamed.ends_with(crate::keys::CHAT))
            && let Some(Ok(mut now)) = text("a", counts).map(|counts| ChatCounts::read(&counts))
        {
            // The byte count of a chat now includes a checksum for each message.
            now.bytes += 4 * messages;
            call.arg("a").arg(counts).arg(now.write());
        }
        if connection.call::<u8>(&call).await? == 1 {
            return Ok(());
        }
    }
    Err(Fault::Contended)
}

/// Returns the number of packed messages in a field of a chat.
fn records(field: &str, value: &[u8]) -> u64 {
    match field.as_bytes().first() {
        Some(b'n') => value.first().map_or(0, |count| u64::from(*count)),
        Some(b'r') => 1,
        _ => 0,
    }
}

fn of_chat(field: &str, value: &[u8]) -> Option<Vec<u8>> {
    let packed = |front: usize| {
        let (front, run) = value.split_at_checked(front)?;
        Some([front, &pack::upgrade(run).ok()?].concat())
    };
    match (field.as_bytes().first()?, field.len()) {
        (b'm' | b's' | b'x' | b'z', 1) => Some(seal(field, value.to_vec())),
        (b'f', _) => Some(seal("f", value.to_vec())),
        (b'u', _) => Some(seal("u", value.to_vec())),
        (b'v' | b'o', 1) | (b't', _) => text(field, value),
        (b'k', _) => Some(seal(field, value.to_vec())),
        (b'c', _) => Some(seal(field, value.to_vec())),
        (b'n', _) => packed(1),
        (b'r', _) => packed(8).map(|revision| seal("r", revision)),
        _ => None,
    }
}

fn of_round(field: &str, value: &[u8]) -> Option<Vec<u8>> {
    match field.as_bytes().first()? {
        b'h' | b'n' | b'k' => Some(seal(field, value.to_vec())),
        b'v' => field.split_once(':').map(|(of, _)| seal(of, value.to_vec())),
        b'e' => seal_edges(value).ok(),
        _ => None,
    }
}

fn of_memory(field: &str, value: &[u8]) -> Option<Vec<u8>> {
    let place = field.strip_prefix('b')?;
    read_number(place.as_bytes()).ok()?;
    let space = value.iter().position(|byte| *byte == b' ')? + 1;
    Some([&value[..space], &seal("b", value[space..].to_vec())].concat())
}

fn of_reference(field: &str, value: &[u8]) -> Option<Vec<u8>> {
    if field.starts_with('r') { text(field, value) } else { None }
}

/// Returns the new form of a text that scripts write.
fn text(field: &str, value: &[u8]) -> Option<Vec<u8>> {
    std::str::from_utf8(value).ok().map(|text| summed(field, text))
}

fn of_blobs(field: &str, value: &[u8]) -> Option<Vec<u8>> {
    field.contains(':').then(|| seal(field, value.to_vec()))
}
