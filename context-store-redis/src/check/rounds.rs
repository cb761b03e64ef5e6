//! The check and the erasing of rounds. Both find the rounds by scanning all keys.

use std::collections::HashSet;

use context_core::store::{CheckReport, Erasure, Finding};
use context_core::trajectory::{Round, RoundRecord};
use context_core::{CancelSignal, UserId};
use redis::cmd;

use crate::error::{Fault, Result};
use crate::keys::Keys;
use crate::reply::Reply;
use crate::rounds::fields::{Fields, read_head, read_round, strays};
use crate::rounds::index::{ANY, Dropped, drop_rounds, sweep};
use crate::scripts::{ROUND_LOOK, ROUNDS_CLEAR};
use crate::shared::Shared;
use crate::{check, rounds};

const OPERATION: &str = "check";

pub(crate) async fn check(
    shared: &Shared,
    cancel: &CancelSignal,
    report: &mut CheckReport,
) -> Result<()> {
    for key in shared.connection.scan(&shared.keys.pattern_of_rounds()).await? {
        cancel.check(OPERATION)?;
        match check_round(shared, &key, report).await {
            Err(Fault::Corrupt(problem, _)) => {
                report.findings.push(Finding::new(None, check::key(&key), problem));
            }
            result => result?,
        }
    }
    for key in shared.connection.scan(&shared.keys.pattern_of_links()).await? {
        cancel.check(OPERATION)?;
        let entries: HashSet<Vec<u8>> =
            shared.connection.run(cmd("ZRANGE").arg(&key[..]).arg(0).arg(-1)).await?;
        let alone = |entry: &&Vec<u8>| {
            rounds::names::other_link(entry).is_none_or(|other| !entries.contains(&other))
        };
        for _ in entries.iter().filter(alone) {
            let problem = "a node and its message are filed in one place only";
            report.findings.push(Finding::new(None, check::key(&key), problem));
        }
    }
    Ok(())
}

async fn check_round(shared: &Shared, key: &[u8], report: &mut CheckReport) -> Result<()> {
    let head: Option<Vec<u8>> = shared.connection.run(cmd("HGET").arg(key).arg("h")).await?;
    let Some(head) = head else {
        let there: bool = shared.connection.run(cmd("EXISTS").arg(key)).await?;
        // A missing key means that the round was removed or has expired meanwhile.
        return if there { Err(Fault::Corrupt("has no head", None)) } else { Ok(()) };
    };
    let round = read_head(&head)?.round;
    report.rounds += 1;
    let mut add = |problem: &str| report.findings.push(Finding::new(None, &round, problem));
    if shared.keys.round(&round).as_bytes() != key {
        add("is kept under the key of another one");
        return Ok(());
    }
    let (name, [list, links]) =
        (rounds::names::of(&round), shared.keys.round_indexes(&round.agent.user));
    let mut call = ROUND_LOOK.key(list);
    call.key(links).key(key).arg(&name);
    let mut reply = Reply::of(shared.connection.ask(&call).await?)?;
    let is_listed = reply.number()? == 1;
    let (mut list, mut fields) = (reply.list()?, Fields::new());
    while !list.is_empty() {
        fields.push((list.bytes()?.to_vec(), list.bytes()?.to_vec()));
    }
    if fields.is_empty() {
        report.rounds -= 1;
        return Ok(());
    }
    let (mut list, mut linked) = (reply.list()?, HashSet::new());
    while !list.is_empty() {
        linked.insert(list.bytes()?.to_vec());
    }
    if !is_listed {
        add("is not in the list of its user");
    }
    match read_round(OPERATION, &fields) {
        Ok(Some(record)) => {
            for stray in strays(&fields)? {
                add(&format!("field {stray} belongs to nothing"));
            }
            if links_of(&record, &name) != linked {
                add("is not filed under the messages that its nodes stand for");
            }
            if let Err(error) = Round::from_record(record) {
                add(&error.to_string());
            }
        }
        Ok(None) => {}
        Err(Fault::Corrupt(problem, _)) => add(problem),
        Err(Fault::Ours(error)) => add(&error.to_string()),
        Err(fault) => return Err(fault),
    }
    Ok(())
}

/// Returns the index entries that a round must have.
fn links_of(record: &RoundRecord, name: &[u8]) -> HashSet<Vec<u8>> {
    let nodes = record.nodes.iter();
    let links = nodes.flat_map(|node| node.messages.iter().map(move |link| (node.id, link)));
    links
        .map(|(node, link)| {
            rounds::names::link(name, node, &Keys::message(&link.chat, &link.message))
        })
        .collect()
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
                drop_rounds(shared, user, vec![(round, ANY.to_owned())]).await? == [Dropped::Now]
            }
            // A round that cannot be identified is removed as well.
            None => shared.connection.run(cmd("UNLINK").arg(key)).await?,
        };
        erasure.rounds += u64::from(gone);
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
