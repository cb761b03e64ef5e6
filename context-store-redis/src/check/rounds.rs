//! The check of rounds, which are found by scanning all keys.

use std::collections::HashSet;

use context_core::CancelSignal;
use context_core::store::{CheckReport, Finding};
use context_core::trajectory::{Round, RoundRecord};
use redis::cmd;

use crate::connections::shared::Shared;
use crate::error::{Fault, Result};
use crate::keys::Keys;
use crate::rounds::fields::{Fields, read_head, read_round, strays};
use crate::scripts::ROUND_READ;
use crate::scripts::reply::Reply;
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
        cancel.report("round", report.rounds);
    }
    for key in shared.connection.scan(&shared.keys.pattern_of_links()).await? {
        cancel.check(OPERATION)?;
        let entries: HashSet<Vec<u8>> =
            shared.connection.run(cmd("ZRANGE").arg(&key[..]).arg(0).arg(-1)).await?;
        let alone = |entry: &&Vec<u8>| {
            rounds::names::other_link(entry).is_none_or(|other| !entries.contains(&other))
        };
        for _ in entries.iter().filter(alone) {
            let problem =
                "a link between a node and a message has only one of its two index entries";
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
        return if there {
            Err(Fault::Corrupt("the head of the round is missing", None))
        } else {
            Ok(())
        };
    };
    let round = read_head(&head)?.round;
    report.rounds += 1;
    let mut add = |problem: &str| report.findings.push(Finding::new(None, &round, problem));
    if shared.keys.round(&round).as_bytes() != key {
        add("the round is stored under the key of another round");
        return Ok(());
    }
    let (name, [list, links]) =
        (rounds::names::of(&round), shared.keys.round_indexes(&round.agent.user));
    let mut call = ROUND_READ.key(list);
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
        add("the round is missing from the list of its user");
    }
    match read_round(OPERATION, &fields) {
        Ok(Some(record)) => {
            for stray in strays(&fields)? {
                add(&format!("field {stray} belongs to no part of the round"));
            }
            if links_of(&record, &name) != linked {
                add("the index of links disagrees with the messages of the nodes");
            }
            if let Err(error) = Round::from_record(record) {
                add(&error.to_string());
            }
        }
        Ok(None) => {}
        Err(Fault::Corrupt(problem, _)) => add(problem),
        Err(Fault::Public(error)) => add(&error.to_string()),
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
