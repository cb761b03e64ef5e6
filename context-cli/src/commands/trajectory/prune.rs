//! `trajectory prune`: removes old rounds, or inactive branches.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use context_runtime::trajectory::{NodeId, NodeRemoval, OpenOptions, Round, RoundHead};
use context_runtime::{
    Error, Store, Timestamp,
    store::RoundPrune,
    trajectory::{AgentRef, RoundRef},
};
use schemars::JsonSchema;
use serde::Serialize;

use super::super::removal_report::{RemovalArgs, confirm, end, not_reached};
use super::{all_rounds, recorder, rounds_of};
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::output::Style;
use crate::progress::Progress;
use crate::text::{clean, count, parse_duration, time};

/// Remove old rounds, or inactive branches.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context trajectory prune --older-than 90d --dry-run
  context trajectory prune --session support-7 --keep-rounds 20   asks first
  context trajectory prune --session support-7 --dead-branches --yes

With several rules a round is removed if one of them applies. --older-than counts from the last write
to a round. --keep-rounds keeps the highest rounds of each agent. --dead-branches removes the nodes
that lead to no end of their round, also from rounds that stay, and keeps the data of the other nodes;
it skips a round that is being recorded. Chats are not changed.")]
#[command(group = clap::ArgGroup::new("rule").required(true).multiple(true))]
pub(super) struct Args {
    /// Only of this session [default: of all sessions of the user]
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// Remove rounds that were not written to for longer than this
    #[arg(long, value_name = "TIME", group = "rule", value_parser = parse_duration)]
    older_than: Option<Duration>,
    /// Keep this many rounds of each agent
    #[arg(long, value_name = "N", group = "rule")]
    keep_rounds: Option<usize>,
    /// Remove nodes that lead to no end of their round
    #[arg(long, group = "rule")]
    dead_branches: bool,
    #[command(flatten)]
    removal: RemovalArgs,
}

/// JSON record of `trajectory prune`: a round, or inactive nodes of one.
#[derive(Serialize, JsonSchema)]
pub(in crate::commands) struct TrajectoryPruneRecord<'a> {
    v: u32,
    session: &'a str,
    agent: u32,
    round: u32,
    /// The number of nodes removed.
    nodes: usize,
    updated_at: String,
    /// `idle`, `count` or `dead_branch`.
    reason: &'static str,
    /// `would_go`, `removed`, `kept` if a round that stays was last written to no later, or
    /// `in_use` if the round was written to after it was listed.
    status: &'static str,
    not_reached: &'a [&'static str],
}

/// The data that stays when rounds go, besides that of the host.
const STAYS: [&str; 3] = ["chats", "memories", "local files of trajectories"];

/// A round to remove.
struct RoundRemoval<'a> {
    head: &'a RoundHead,
    reason: &'static str,
}

/// The purpose of a walk over the rounds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    Count,
    Show,
    Remove,
}

pub(super) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let store = app.store_unless(args.removal.dry_run).await?;
    let heads = all_rounds(app, &*store, args.session.as_deref()).await?;
    if args.removal.asks() {
        let going = walk(&args, app, &store, &heads, Work::Count).await?;
        if going != (0, 0) {
            confirm(app, &totals(going), ", nor the chats")?;
        }
    }
    let work = if args.removal.dry_run { Work::Show } else { Work::Remove };
    if work == Work::Remove {
        app.out.outlive_reader();
    }
    let gone = walk(&args, app, &store, &heads, work).await?;
    if !app.out.is_json() {
        let not_reached = match gone {
            (0, 0) => Vec::new(),
            _ => not_reached(&*store, &STAYS),
        };
        end(app, &args.removal, &totals(gone), &not_reached)?;
    }
    Ok(Outcome::Success)
}

fn totals((rounds, nodes): (usize, usize)) -> String {
    let dead = if nodes > 0 { format!(", {}", count(nodes, "dead node")) } else { String::new() };
    format!("{}{dead}", count(rounds, "round"))
}

/// Counts, shows or removes what the rules take. Returns the numbers of rounds and of dead nodes.
async fn walk(
    args: &Args,
    app: &mut App,
    store: &Arc<dyn Store>,
    heads: &[RoundHead],
    work: Work,
) -> Result<(usize, usize), Failure> {
    let mut agents: BTreeMap<&AgentRef, Vec<&RoundHead>> = BTreeMap::new();
    for head in heads {
        agents.entry(&head.round.agent).or_default().push(head);
    }
    let interrupt = app.interrupt();
    let others = not_reached(&**store, &STAYS);
    let progress =
        Progress::new(&app.out, if work == Work::Remove { "removing" } else { "looking" });
    progress.steps("round", heads.len());
    let (mut rounds, mut nodes) = (0, 0);
    for (agent, heads) in agents {
        interrupt.check("prune")?;
        let (removals, until) = plan(args, app.now(), &heads);
        let goes = |head: &RoundHead| until.is_some_and(|until| head.updated_at <= until);
        let mut stayed = BTreeSet::new();
        if let Some(until) = until.filter(|_| work == Work::Remove) {
            let user = app.user.clone();
            let prune = RoundPrune::of_user(user).session(agent.session.clone()).agent(agent.agent);
            let pruned = rounds_of(&**store)?.prune_rounds(&prune.updated_until(until)).await?;
            if pruned.rounds < removals.iter().filter(|removals| goes(removals.head)).count() as u64
            {
                // A round was written to after it was listed, or another process removed it first.
                let left = all_rounds(app, &**store, Some(agent.session.as_str())).await?;
                let left = left.into_iter().filter(|head| head.round.agent == *agent);
                stayed.extend(left.map(|head| head.round.round));
            }
        }
        let mut gone = Vec::new();
        for RoundRemoval { head, reason } in removals {
            let status = match goes(head) {
                false => "kept",
                true if stayed.contains(&head.round.round) => "in_use",
                true => args.removal.status(),
            };
            if status == args.removal.status() {
                gone.push(head.round.round);
                rounds += 1;
            }
            write(app, work, head, head.nodes as usize, reason, status, &others)?;
        }
        if args.dead_branches {
            for head in heads.iter().filter(|head| !gone.contains(&head.round.round)) {
                let dead = prune_dead(app, store, &head.round, work != Work::Remove).await?;
                if dead > 0 {
                    let status = args.removal.status();
                    write(app, work, head, dead, "dead_branch", status, &others)?;
                    nodes += dead;
                }
            }
        }
        progress.advance(heads.len());
    }
    Ok((rounds, nodes))
}

/// Returns the rounds of an agent to remove, and the time up to which they can be removed: stores
/// remove rounds by time, and no round that stays may be removed.
fn plan<'a>(
    args: &Args,
    now: Timestamp,
    heads: &[&'a RoundHead],
) -> (Vec<RoundRemoval<'a>>, Option<Timestamp>) {
    let idle_until = args.older_than.map(|age| {
        let age = i64::try_from(age.as_micros()).unwrap_or(i64::MAX);
        Timestamp::from_micros(now.as_micros().saturating_sub(age))
    });
    let surplus = args.keep_rounds.map_or(0, |keep| heads.len().saturating_sub(keep));
    let (mut removals, mut first_kept) = (Vec::new(), None::<Timestamp>);
    for (place, head) in heads.iter().enumerate() {
        if idle_until.is_some_and(|until| head.updated_at <= until) {
            removals.push(RoundRemoval { head, reason: "idle" });
        } else if place < surplus {
            removals.push(RoundRemoval { head, reason: "count" });
        } else {
            first_kept =
                Some(first_kept.map_or(head.updated_at, |first| first.min(head.updated_at)));
        }
    }
    let fits = |at: &Timestamp| first_kept.is_none_or(|kept| *at < kept);
    let until = removals.iter().map(|removals| removals.head.updated_at).filter(fits).max();
    (removals, until)
}

/// Removes the inactive nodes of a round, newest first, and returns their number.
async fn prune_dead(
    app: &App,
    store: &Arc<dyn Store>,
    reference: &RoundRef,
    dry_run: bool,
) -> Result<usize, Failure> {
    let number = reference.round;
    let records = rounds_of(&**store)?.load_rounds(&reference.agent, number..=number).await?;
    let Some(record) = records.into_iter().next() else { return Ok(0) };
    let round = Round::from_record(record).map_err(|error| error.during("load_rounds"))?;
    let dead = dead(round);
    if dry_run || dead.is_empty() {
        return Ok(dead.len());
    }
    let context =
        recorder(app, store)?.open(reference, OpenOptions::new()).await.map_err(Error::from)?;
    let before = context.round().len();
    for node in dead {
        if context.round().node(node).is_some() {
            context.remove(node, NodeRemoval::Cascade).await.map_err(Error::from)?;
        }
    }
    Ok(before - context.round().len())
}

/// Returns the nodes that are on no active branch, successors before predecessors.
fn dead(round: Round) -> Vec<NodeId> {
    let order = round.order();
    let alone = context_runtime::trajectory::Trajectory::new([Arc::new(round)], Default::default());
    let alive = alone.pruned().nodes;
    order.into_iter().rev().filter(|id| !alive.contains(id)).collect()
}

fn write(
    app: &mut App,
    work: Work,
    head: &RoundHead,
    nodes: usize,
    reason: &'static str,
    status: &'static str,
    not_reached: &[&'static str],
) -> Result<(), Failure> {
    if work == Work::Count {
        return Ok(());
    }
    let RoundRef { agent, round } = &head.round;
    if app.out.is_json() {
        return app.out.record(&TrajectoryPruneRecord {
            v: 1,
            session: agent.session.as_str(),
            agent: agent.agent,
            round: *round,
            nodes,
            updated_at: time(head.updated_at),
            reason,
            status,
            not_reached,
        });
    }
    let what = match reason {
        "dead_branch" => format!("{} of ", count(nodes, "dead node")),
        _ => String::new(),
    };
    let why = match (status, reason) {
        ("kept", _) => "last written to no earlier than a round that stays",
        ("in_use", _) => "written to after it was listed",
        (_, "idle") => "idle for longer",
        (_, "count") => "beyond the number to keep",
        _ => "no path leads from them to an end of the round",
    };
    let last = app.out.paint(Style::Dim, app.out.when(head.updated_at)).to_string();
    let place = match agent.agent {
        0 => format!("round {round}"),
        number => format!("agent {number} round {round}"),
    };
    let (status, session) = (status.replace('_', " "), clean(agent.session.as_str()));
    app.out.line(format_args!("{status:9} {what}{place} of {session}, last written {last}: {why}"))
}
