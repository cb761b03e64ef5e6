//! The fast path of a commit: messages at the end of a branch, as one script in one round trip.
//!
//! The fast path makes no decisions: every other case is left to
//! [`commit`](crate::history::commit).

use context_core::store::{Commit, Committed};
use context_store_kit::{pack, plain_append};

use crate::chat::snapshot::chat_not_found;
use crate::connections::shared::Shared;
use crate::error::Result;
use crate::scripts::APPEND;
use crate::values;

/// Writes a commit that only appends messages to a branch with the expected head. Returns `None`
/// for any other commit.
pub(crate) async fn append(shared: &Shared, commit: &Commit) -> Result<Option<Committed>> {
    let (Some((branch, expected)), Some(last)) = (plain_append(commit), commit.nodes.last()) else {
        return Ok(None);
    };
    let mut call = APPEND.key(shared.keys.chat(&commit.chat));
    let expected = expected.map_or("", |expected| expected.as_str());
    call.arg(branch.as_str()).arg(expected).arg(values::time(commit.at)).arg(shared.ttl);
    let mut packed = Vec::new();
    for node in &commit.nodes {
        packed.clear();
        pack::pack(node, &mut packed);
        call.arg(node.id.as_str()).arg(&packed[..]);
    }
    match shared.connection.call::<u8>(&call).await? {
        0 => Err(chat_not_found("commit", &commit.chat)),
        1 => Ok(Some(Committed::new(Some(branch.clone()), Some(last.id.clone())))),
        _ => Ok(None),
    }
}
