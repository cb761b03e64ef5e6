//! The fast path of a commit: messages at the end of a branch, as one script in one round trip.
//!
//! The fast path makes no decisions: every other case is left to
//! [`commit`](crate::history::commit).

use std::sync::Arc;

use context_core::Node;
use context_core::store::{Commit, Committed};
use context_store_kit::{PlainAppend, pack, plain_append};
use redis::Value;

use crate::chat::fields::{BLOCK, RUN_BYTES};
use crate::chat::snapshot::chat_not_found;
use crate::connections::shared::Shared;
use crate::error::Result;
use crate::scripts::APPEND;
use crate::values::{self, unreadable};

/// Writes a commit that only appends messages to a branch with the expected head, or to one that
/// has moved on from there if the commit is a graft. Returns `None` for any other commit.
pub(crate) async fn append(shared: &Shared, commit: &Commit) -> Result<Option<Committed>> {
    let (Some(append), Some(last)) = (plain_append(commit), commit.nodes.last()) else {
        return Ok(None);
    };
    let PlainAppend { branch, seen, grafts, .. } = append;
    let mut call = APPEND.key(shared.keys.chat(&commit.chat));
    let before = seen.map_or("", |seen| seen.as_str());
    call.arg(branch.as_str()).arg(before).arg(values::time(commit.at)).arg(shared.ttl);
    call.arg(u8::from(grafts));
    match one_run(&commit.nodes) {
        Some(run) => {
            call.arg(commit.nodes.len());
            commit.nodes.iter().for_each(|node| _ = call.arg(node.id.as_str()));
            call.arg(&run[..]);
        }
        None => {
            call.arg(0);
            let mut packed = Vec::new();
            for node in &commit.nodes {
                packed.clear();
                pack::pack(node, &mut packed);
                call.arg(node.id.as_str()).arg(&packed[..]);
            }
        }
    }
    let committed = Committed::new(Some(branch.clone()), Some(last.id.clone()));
    match shared.connection.call::<Value>(&call).await? {
        Value::Int(0) => Err(chat_not_found("commit", &commit.chat)),
        Value::Int(1) => Ok(Some(committed.with_onto(seen.cloned().filter(|_| grafts)))),
        Value::BulkString(head) => {
            let head = String::from_utf8(head).map_err(|_| unreadable())?;
            Ok(Some(committed.with_onto(Some(head.into()))))
        }
        _ => Ok(None),
    }
}

/// Returns the messages as a run, if the script can store them as one without looking into it: less
/// than a block, and of one message if it is large.
fn one_run(nodes: &[Arc<Node>]) -> Option<Vec<u8>> {
    let count = u8::try_from(nodes.len()).ok().filter(|count| u64::from(*count) < BLOCK)?;
    let mut run = vec![count];
    nodes.iter().for_each(|node| pack::pack(node, &mut run));
    (nodes.len() == 1 || run.len() <= RUN_BYTES).then_some(run)
}
