//! Removing rounds: those that a program prunes, and all rounds of an erased user.

use context_core::store::{Erasure, RoundPrune, RoundsPruned};
use context_core::trajectory::RoundRef;
use context_core::{CancelSignal, UserId};
use redis::cmd;

use crate::connections::shared::{ATTEMPTS, Shared};
use crate::error::{Fault, Result};
use crate::rounds;
use crate::rounds::fields::read_head;
use crate::rounds::index::{self, ANY, BATCH, RoundRemoval, drop_rounds, sweep};
use crate::scripts::ROUNDS_CLEAR;

/// Removes rounds, in batches of as many as are read at once. A round that is written to meanwhile
/// is read again.
pub(crate) async fn prune(shared: &Shared, prune: &RoundPrune) -> Result<RoundsPruned> {
    let mut pruned = RoundsPruned::default();
    let mut pages = index::RoundPages::of(prune.user.clone(), prune.session.as_ref(), prune.agent);
    let wanted = |round: &RoundRef| prune.agent.is_none_or(|agent| agent == round.agent.agent);
    while let Some(mut heads) = pages.next(shared, BATCH, wanted).await? {
        let mut tries = 0;
        loop {
            heads.retain(|head| prune.takes(head));
            if heads.is_empty() {
                break;
            }
            if tries == ATTEMPTS {
                return Err(Fault::Contended);
            }
            tries += 1;
            let rounds =
                heads.iter().map(|head| (head.round.clone(), head.revision.to_string())).collect();
            let dropped = index::drop_rounds(shared, &prune.user, rounds).await?;
            let mut changed = Vec::new();
            for (head, dropped) in heads.iter().zip(dropped) {
                match dropped {
                    RoundRemoval::Changed => changed.push(head.round.clone()),
                    RoundRemoval::Removed => pruned.count(head),
                    RoundRemoval::Absent => {}
                }
            }
            heads = index::heads(shared, &changed).await?.into_iter().flatten().collect();
        }
    }
    Ok(pruned)
}

/// Erases the rounds of a user among these keys, and index entries of rounds that do not exist.
pub(crate) async fn erase(
    shared: &Shared,
    user: &UserId,
    keys: impl Iterator<Item = &[u8]>,
    cancel: &CancelSignal,
    erasure: &mut Erasure,
) -> Result<()> {
    for key in keys {
        cancel.check("erase_user")?;
        let head: Option<Vec<u8>> = shared.connection.run(cmd("HGET").arg(key).arg("h")).await?;
        let round = head.and_then(|head| read_head(&head).ok()).map(|head| head.round);
        let gone = match round.filter(|round| shared.keys.round(round).as_bytes() == key) {
            Some(round) => {
                drop_rounds(shared, user, vec![(round, ANY.to_owned())]).await?
                    == [RoundRemoval::Removed]
            }
            // A round that cannot be identified is removed as well.
            None => shared.connection.run(cmd("UNLINK").arg(key)).await?,
        };
        erasure.rounds += u64::from(gone);
        cancel.report("round", erasure.rounds);
    }
    let [list, links] = shared.keys.round_indexes(user);
    let names: Vec<Vec<u8>> =
        shared.connection.run(cmd("ZRANGE").arg(&list).arg(0).arg(-1)).await?;
    let (names, strange): (Vec<_>, Vec<_>) =
        names.into_iter().partition(|name| rounds::names::read(user, name).is_some());
    if !strange.is_empty() {
        let _gone: u64 = shared.connection.run(cmd("ZREM").arg(&list).arg(strange)).await?;
    }
    sweep(shared, user, names).await?;
    let mut call = ROUNDS_CLEAR.key(list);
    let _done: u8 = shared.connection.call(call.key(links)).await?;
    Ok(())
}
