//! The steps of blocks, read when somebody looks at them.

use std::collections::HashMap;
use std::sync::Arc;

use context_runtime::trajectory::{
    AgentRef, Relation, RoundHead, RoundRecord, RoundState, TrajectoryNodeKind,
};

use super::Run;
use super::line::{self, RunLine};
use crate::OperationError;

/// Rounds of one agent that are this near to each other are read together.
const NEAR: u32 = 8;

/// Reads blocks, as lines.
pub(super) async fn read(
    run: &Run,
    blocks: &[usize],
) -> Result<HashMap<usize, Arc<[RunLine]>>, OperationError> {
    let mut wanted: Vec<u32> =
        blocks.iter().flat_map(|at| run.layout.blocks[*at].members.iter().copied()).collect();
    wanted.sort_unstable();
    let records = read_rounds(run, &wanted).await?;
    let lines = blocks.iter().map(|at| (*at, block(run, *at, &records)));
    Ok(lines.collect())
}

/// Reads rounds, by the positions of their heads in ascending order.
pub(super) async fn read_rounds(
    run: &Run,
    wanted: &[u32],
) -> Result<HashMap<u32, RoundRecord>, OperationError> {
    let place = |at: u32| {
        let head = &run.heads[at as usize].round;
        (head.agent.agent, head.round)
    };
    let mut records = HashMap::with_capacity(wanted.len());
    let mut rest = wanted;
    while let Some(first) = rest.first() {
        let (agent, start) = place(*first);
        let mut end = start;
        let near = rest.iter().take_while(|at| {
            let (of, round) = place(**at);
            let is_near = of == agent && round.saturating_sub(end) <= NEAR;
            end = if is_near { round } else { end };
            is_near
        });
        let (together, after) = rest.split_at(near.count());
        let agent = AgentRef { agent, ..run.agent.clone() };
        let mut read = run.trajectories()?.load_rounds(&agent, start..=end).await?.into_iter();
        let mut next = read.next();
        for at in together {
            let (_, round) = place(*at);
            while next.as_ref().is_some_and(|record| record.head.round.round < round) {
                next = read.next();
            }
            if let Some(record) = next.take_if(|record| record.head.round.round == round) {
                records.insert(*at, record);
                next = read.next();
            }
        }
        rest = after;
    }
    Ok(records)
}

/// Returns the state of a round as a reader sees it.
pub(super) fn state(run: &Run, at: u32) -> RoundState {
    let head = &run.heads[at as usize];
    let next = run.heads.get(at as usize + 1);
    let has_later = next.is_some_and(|next| next.round.agent == head.round.agent);
    head.state_as_read(has_later, Some(run.read_at))
}

enum Work {
    Round(u32, u32),
    Line(Box<RunLine>),
}

fn block(run: &Run, at: usize, records: &HashMap<u32, RoundRecord>) -> Arc<[RunLine]> {
    let block = &run.layout.blocks[at];
    let mut lines = Vec::with_capacity(block.lines);
    let mut seen = std::collections::HashSet::new();
    let mut open = vec![Work::Round(block.members[0], 0)];
    while let Some(work) = open.pop() {
        match work {
            Work::Line(line) => lines.push(*line),
            Work::Round(at, depth) => {
                if !seen.insert(at) {
                    continue;
                }
                let Some(record) = records.get(&at) else { continue };
                let state = state(run, at);
                let agent = record.head.round.agent.agent;
                let mut called = run.layout.called.get(&at).cloned().unwrap_or_default();
                called.sort_by_key(|(step, child)| (*step, *child));
                let mut work = Vec::new();
                for (position, within) in order(record) {
                    let node = &record.nodes[position];
                    let mut line = RunLine::of(node, agent, depth + within, state);
                    let mut links = node.messages.iter();
                    let own = links.find(|it| run.chat.as_deref() == Some(it.chat.as_str()));
                    line.message = own.map(|link| link.message.clone());
                    work.push(Work::Line(Box::new(line)));
                    called.retain(|(step, child)| {
                        let here = *step == node.id.ordinal;
                        if here {
                            work.push(Work::Round(*child, depth + within + 1));
                        }
                        !here
                    });
                }
                // The steps that called these are no longer there.
                work.extend(called.into_iter().map(|(_, child)| Work::Round(child, depth + 1)));
                open.extend(work.into_iter().rev());
            }
        }
    }
    // The round may have grown since its head was read.
    lines.truncate(block.lines);
    line::name_calls(&mut lines);
    line::place(&mut lines);
    lines.into()
}

/// Returns the positions of nodes in the order in which they are read, with their depth: actions
/// stand below the conclusion that triggered them, and data below what made it.
fn order(record: &RoundRecord) -> Vec<(usize, u32)> {
    let position =
        |ordinal: u32| record.nodes.binary_search_by_key(&ordinal, |node| node.id.ordinal).ok();
    let number = record.head.round.round;
    let mut before: Vec<Option<usize>> = vec![None; record.nodes.len()];
    for edge in &record.edges {
        let is_flow = edge.relation() == Relation::Flow && edge.from.round == number;
        if !is_flow || edge.from.ordinal >= edge.to.ordinal {
            continue;
        }
        if let (Some(from), Some(to)) = (position(edge.from.ordinal), position(edge.to.ordinal)) {
            before[to].get_or_insert(from);
        }
    }
    let query = record.nodes.iter().position(|node| node.kind() == TrajectoryNodeKind::Query);
    let mut below: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut top = Vec::new();
    for (at, node) in record.nodes.iter().enumerate() {
        let home = match node.kind() {
            TrajectoryNodeKind::Query => None,
            TrajectoryNodeKind::Action => before[at].filter(|from| {
                let kind = record.nodes[*from].kind();
                matches!(kind, TrajectoryNodeKind::State | TrajectoryNodeKind::Query)
            }),
            kind if kind.is_computation() => None,
            _ => before[at],
        };
        match home.or(query.filter(|query| *query < at)) {
            Some(home) => below.entry(home).or_default().push(at),
            None => top.push(at),
        }
    }
    let mut order = Vec::with_capacity(record.nodes.len());
    let mut open: Vec<(usize, u32)> = top.into_iter().rev().map(|at| (at, 0)).collect();
    while let Some((at, depth)) = open.pop() {
        order.push((at, depth));
        open.extend(below.remove(&at).into_iter().flatten().rev().map(|child| (child, depth + 1)));
    }
    order
}

/// Returns whether a head is of this round.
pub(super) fn is_round(head: &RoundHead, agent: u32, round: u32) -> bool {
    (head.round.agent.agent, head.round.round) == (agent, round)
}
