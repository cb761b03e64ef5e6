//! Which layout the keys under a prefix have, and whether they are those of a store at all.
//!
//! ```text
//! {store}:layout    the number of the layout; written last, once everything is as it says
//! {store}:opened    how often the store was opened to write
//! {store}:handles   a text: programs that know no layouts count here, and cannot any more
//! ```

use context_core::{Error, ErrorKind};
use redis::cmd;

use crate::connection::Connection;
use crate::error::{Fault, Result};
use crate::keys::Keys;

/// The layout that this program reads and writes.
pub(crate) const KNOWN: u64 = 2;

/// What stands where programs that know no layouts count their handles.
const FENCE: &str = "see layout";

const LAYOUT: &str = "layout";
const HANDLES: &str = "handles";
const OPENED: &str = "opened";

/// What was found under a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Nothing,
    /// A store of an older program, or one that is being brought up to date.
    Older,
    Current,
}

/// Makes sure that there is a store of this layout under the prefix, one that is made if it may be,
/// and returns the how-manieth handle that writes this is; 0 for one that only reads.
pub(crate) async fn open(connection: &Connection, keys: &Keys, create: bool) -> Result<u64> {
    let found = find(connection, keys).await?;
    if found == Found::Nothing && (connection.read_only() || !create) {
        let message = "there is no context store under the prefix";
        return Err(Error::new(ErrorKind::NotFound, "open", message).into());
    }
    if connection.read_only() {
        if found == Found::Current {
            return Ok(0);
        }
        let message =
            "the store is of an older version: bring it up to date with `context upgrade`";
        let error = Error::new(ErrorKind::Unsupported, "open", message);
        return Err(error.with("older_schema", KNOWN - 1).with("newest_schema", KNOWN).into());
    }
    if found != Found::Current {
        // First, so that no older program begins to write while this one goes on.
        let () = connection.run(cmd("SET").arg(keys.of_store(HANDLES)).arg(FENCE)).await?;
        if found == Found::Older {
            crate::upgrade::all(connection, keys).await?;
        }
        let () = connection.run(cmd("SET").arg(keys.of_store(LAYOUT)).arg(KNOWN)).await?;
    }
    connection.run(cmd("INCR").arg(keys.of_store(OPENED))).await
}

async fn find(connection: &Connection, keys: &Keys) -> Result<Found> {
    if let Some(found) = said(connection, keys).await? {
        return Ok(found);
    }
    // Once in the life of a store.
    let there = connection.scan(&keys.pattern_of_all()).await?;
    if there.is_empty() {
        return Ok(Found::Nothing);
    }
    // Somebody else may have made the store meanwhile, and says so before the first other key.
    if let Some(found) = said(connection, keys).await? {
        return Ok(found);
    }
    // Or the server was emptied, or threw the number away, under a handle that went on.
    if there.iter().all(|key| keys.is_ours(key)) { Ok(Found::Older) } else { Err(foreign()) }
}

/// What the keys of the whole store say; nothing if there is none.
async fn said(connection: &Connection, keys: &Keys) -> Result<Option<Found>> {
    let layout = text(connection, &keys.of_store(LAYOUT)).await?;
    if let Some(layout) = layout {
        let layout: u64 = layout.parse().map_err(|_| foreign())?;
        if layout > KNOWN {
            let message = format!("written by layout {layout}, this program knows up to {KNOWN}");
            return Err(Error::new(ErrorKind::Unsupported, "open", message)
                .with("newer_schema", layout)
                .into());
        }
        return Ok(Some(if layout == KNOWN { Found::Current } else { Found::Older }));
    }
    match text(connection, &keys.of_store(HANDLES)).await? {
        Some(handles) if handles == FENCE || handles.parse::<u64>().is_ok() => {
            Ok(Some(Found::Older))
        }
        Some(_) => Err(foreign()),
        None => Ok(None),
    }
}

/// A key that holds a text. One that holds something else is another program's.
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

/// The refusal of a prefix that somebody else uses.
fn foreign() -> Fault {
    let message = "the prefix holds keys of another program, and is left as it is";
    Error::new(ErrorKind::Unsupported, "open", message).into()
}
