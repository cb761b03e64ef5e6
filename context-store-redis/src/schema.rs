//! The layout version of the keys under a prefix: opening a store, creating it, and upgrading it.
//!
//! ```text
//! {store}:layout    the number of the layout; written last, after all keys have this layout
//! {store}:opened    number of handles that were opened for writing
//! {store}:handles   a text that stops programs without layout versions, which count their handles here
//! ```

mod upgrade;

use context_core::{Error, ErrorKind};
use redis::cmd;

use crate::connections::Connection;
use crate::error::{Fault, Result};
use crate::keys::Keys;

/// The layout that this program reads and writes. Layout 3 has leases, versions of fragments and
/// the log of references: programs that know only layout 2 would append to a chat in spite of a
/// lease, and change fragments and branches without an entry.
pub(crate) const KNOWN: u64 = 3;

/// A value in place of the counter of handles. It keeps programs without layout versions out.
const FENCE: &str = "see layout";

const LAYOUT: &str = "layout";
const HANDLES: &str = "handles";
const OPENED: &str = "opened";

/// The version of the store under a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StoreVersion {
    Missing,
    /// A store of an older program, with its layout, or one that is being upgraded.
    Older(u64),
    Current,
}

/// Makes sure that a store of this layout exists under the prefix, and creates it if that is
/// allowed. Returns the number of this handle among all that write, or 0 for a read-only handle.
pub(crate) async fn open(connection: &Connection, keys: &Keys, create: bool) -> Result<u64> {
    let version = find(connection, keys).await?;
    if version == StoreVersion::Missing && (connection.read_only() || !create) {
        let message = "there is no context store under the prefix";
        return Err(Error::new(ErrorKind::NotFound, "open", message).into());
    }
    if connection.read_only() {
        let StoreVersion::Older(layout) = version else { return Ok(0) };
        let message = "the store has an older layout: upgrade it with `context upgrade`";
        let error = Error::new(ErrorKind::Unsupported, "open", message);
        return Err(error.with("older_schema", layout).with("newest_schema", KNOWN).into());
    }
    if version != StoreVersion::Current {
        // Set first, so that no older program begins to write during the upgrade.
        let () = connection.run(cmd("SET").arg(keys.of_store(HANDLES)).arg(FENCE)).await?;
        if matches!(version, StoreVersion::Older(_)) {
            upgrade::all(connection, keys).await?;
        }
        let () = connection.run(cmd("SET").arg(keys.of_store(LAYOUT)).arg(KNOWN)).await?;
    }
    connection.run(cmd("INCR").arg(keys.of_store(OPENED))).await
}

async fn find(connection: &Connection, keys: &Keys) -> Result<StoreVersion> {
    if let Some(version) = stored_version(connection, keys).await? {
        return Ok(version);
    }
    // Needed only once in the life of a store.
    let existing = connection.scan(&keys.pattern_of_all()).await?;
    if existing.is_empty() {
        return Ok(StoreVersion::Missing);
    }
    // Another handle may have created the store meanwhile. It sets the layout before any other key.
    if let Some(version) = stored_version(connection, keys).await? {
        return Ok(version);
    }
    // If all keys have this store's form, the server may also have lost the layout number by being
    // emptied or by eviction, while another handle kept writing.
    if existing.iter().all(|key| keys.is_ours(key)) {
        Ok(StoreVersion::Older(1))
    } else {
        Err(foreign())
    }
}

/// Returns the version that the keys of the whole store state, or `None` if they do not exist.
async fn stored_version(connection: &Connection, keys: &Keys) -> Result<Option<StoreVersion>> {
    let layout = text(connection, &keys.of_store(LAYOUT)).await?;
    if let Some(layout) = layout {
        let layout: u64 = layout.parse().map_err(|_| foreign())?;
        if layout > KNOWN {
            let message = format!(
                "the store has layout {layout}, and this program supports layouts up to {KNOWN}"
            );
            return Err(Error::new(ErrorKind::Unsupported, "open", message)
                .with("newer_schema", layout)
                .into());
        }
        let older = StoreVersion::Older(layout);
        return Ok(Some(if layout == KNOWN { StoreVersion::Current } else { older }));
    }
    match text(connection, &keys.of_store(HANDLES)).await? {
        Some(handles) if handles == FENCE || handles.parse::<u64>().is_ok() => {
            Ok(Some(StoreVersion::Older(1)))
        }
        Some(_) => Err(foreign()),
        None => Ok(None),
    }
}

/// Returns the text of a key. A key of another type belongs to another program.
async fn text(connection: &Connection, key: &str) -> Result<Option<String>> {
    let kind: String = connection.run(cmd("TYPE").arg(key)).await?;
    match kind.as_str() {
        "none" => Ok(None),
        "string" => {
            let value: Option<Vec<u8>> = connection.run(cmd("GET").arg(key)).await?;
            value.map(|value| String::from_utf8(value).map_err(|_| foreign())).transpose()
        }
        _ => Err(foreign()),
    }
}

/// Returns the error for a prefix that another program uses.
fn foreign() -> Fault {
    let message = "keys of another program begin with the prefix, so nothing was changed";
    Error::new(ErrorKind::Unsupported, "open", message).into()
}
