//! Writing a commit to a round, as one script.

use context_core::store::{RecordOutcome, RoundCommit};
use context_core::trajectory::{Change, TrajectoryError};
use redis::{Value, cmd};

use crate::checksums;
use crate::connections::shared::{Shared, check_bytes};
use crate::error::{Fault, Result};
use crate::keys::Keys;
use crate::rounds;
use crate::rounds::encoding::{EDGES_BYTES, write_change, write_edge, write_node};
use crate::rounds::index::{self, SAMPLE};
use crate::scripts::ROUND_RECORD;
use crate::scripts::reply::Reply;
use crate::values::read_number;

pub(crate) async fn record(shared: &Shared, commit: &RoundCommit) -> Result<RecordOutcome> {
    const OPERATION: &str = "record_round";
    let round = &commit.head.round;
    let user = &round.agent.user;
    let head = serde_json::to_vec(&commit.head)
        .map_err(|_| Fault::Corrupt("the head of a round cannot be written", None))?;
    let head = checksums::seal("h", head);
    let edges = edges_of(commit)?;
    let mut bytes = head.len() + edges.iter().map(Vec::len).sum::<usize>();
    let [list, links] = shared.keys.round_indexes(user);
    let mut call = ROUND_RECORD.key(list);
    call.key(links).key(shared.keys.round(round));
    let key = checksums::seal("k", commit.key.as_str().as_bytes().to_vec());
    call.arg(commit.expected).arg(commit.head.revision).arg(key).arg(shared.ttl);
    call.arg(rounds::names::of(round)).arg(round.round).arg(head).arg(edges.len()).arg(edges);
    for change in &commit.changes {
        match change {
            Change::NodeAdded { node } => {
                let record = checksums::seal(&format!("n{}", node.id.ordinal), write_node(node)?);
                let messages: String = node
                    .messages
                    .iter()
                    .map(|link| Keys::message(&link.chat, &link.message))
                    .collect();
                bytes += record.len() + messages.len();
                call.arg("n").arg(node.id.ordinal).arg(record).arg(messages);
            }
            Change::NodeChanged { id, version, now } => {
                let record =
                    checksums::seal(&format!("v{}", id.ordinal), write_change(version, now)?);
                bytes += record.len();
                call.arg("c").arg(id.ordinal).arg(record);
            }
            Change::NodeRemoved { id } => {
                call.arg("x").arg(id.ordinal);
            }
            Change::EdgeAdded { .. } => {}
            _ => {
                return Err(Fault::Corrupt(
                    "a commit to a round has a change that this store does not know",
                    None,
                ));
            }
        }
    }
    check_bytes(OPERATION, bytes)?;
    let mut reply = Reply::of(shared.connection.call::<Value>(&call).await?)?;
    match reply.number()? {
        1 => {}
        2 => return Ok(RecordOutcome::Replayed),
        3 => {
            let actual = read_number(&reply.bytes()?)?;
            return Ok(RecordOutcome::Conflict { actual });
        }
        _ => {
            let message = "a change contradicts the stored round".to_owned();
            return Err(TrajectoryError::Damaged { damage: message }.during(OPERATION).into());
        }
    }
    if shared.ttl > 0 && commit.expected == 0 {
        let names = cmd("ZRANDMEMBER").arg(&shared.keys.round_indexes(user)[0]).arg(SAMPLE).clone();
        let names: Vec<Vec<u8>> = shared.connection.run(&names).await?;
        index::sweep(shared, user, names).await?;
    }
    Ok(RecordOutcome::Applied)
}

/// Returns the new edges, in parts that fit one field.
fn edges_of(commit: &RoundCommit) -> Result<Vec<Vec<u8>>> {
    let mut parts: Vec<Vec<u8>> = Vec::new();
    for change in &commit.changes {
        let Change::EdgeAdded { edge } = change else { continue };
        let mut record = Vec::with_capacity(14 + edge.name.len());
        write_edge(edge, &mut record)?;
        match parts.last_mut() {
            Some(part) if part.len() + record.len() <= EDGES_BYTES => part.extend(record),
            _ => parts.push(record),
        }
    }
    Ok(parts)
}
