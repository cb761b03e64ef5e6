//! `trajectory stats`: counts tokens, times, calls and errors by round.

use std::collections::{BTreeMap, HashSet};

use context_runtime::trajectory::{Round, TrajectoryNode, TrajectoryNodeKind};
use schemars::JsonSchema;
use serde::Serialize;

use super::session;
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::output::Style;
use crate::text::{clean, count};

/// Count nodes, tokens, times, calls and errors.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context trajectory stats support-7
  context trajectory stats support-7 --json

Tokens and times are those that were recorded with the nodes. A call is repeated if an earlier one of
its round has the same tool and params. It failed if its result reports an error, and is waiting if
it has no result.")]
pub(super) struct Args {
    /// The session
    session: String,
}

/// JSON record of `trajectory stats`: one round.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(in crate::commands) struct RoundStatsRecord<'a> {
    v: u32,
    session: &'a str,
    /// The calling agent, 0 for the main one.
    agent: u32,
    round: u32,
    /// The number of nodes of each kind that occurs.
    nodes: BTreeMap<&'static str, usize>,
    calls: usize,
    /// The number of calls whose result reports a failure.
    failed_calls: usize,
    /// The number of calls without a result.
    waiting_calls: usize,
    /// The number of calls of the same tool with the same parameters as an earlier one.
    repeated_calls: usize,
    /// The number of nodes whose measures contain an error.
    errors: usize,
    input_tokens: u64,
    output_tokens: u64,
    /// The input read from the provider's cache. Null if that is known of no node.
    cache_read_tokens: Option<u64>,
    /// The share of the input read from the provider's cache, from 0 to 1. Null if it is not known.
    cache_hit_rate: Option<f64>,
    /// Null if the cost is known of no node.
    cost_usd: Option<f64>,
    /// The time from the start of the round to the last node or result, in seconds. Null if unknown
    /// because everything was recorded at one time.
    seconds: Option<f64>,
    /// The time spent in calls, in seconds. Concurrent calls are added up. Null if it is known of
    /// no call.
    call_seconds: Option<f64>,
}

pub(super) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let store = app.store_to_read().await?;
    let graph = session(app, &store, &args.session).await?;
    for side in graph.agents() {
        for round in side.trajectory().rounds() {
            let stats = stats(graph.session().as_str(), round);
            match app.out.is_json() {
                true => app.out.record(&stats)?,
                false => write(app, &stats)?,
            }
        }
    }
    Ok(Outcome::Success)
}

fn seconds(micros: i64) -> f64 {
    micros as f64 / 1e6
}

fn stats<'a>(session: &'a str, round: &Round) -> RoundStatsRecord<'a> {
    let head = round.head();
    let mut stats = RoundStatsRecord {
        v: 1,
        session,
        agent: head.round.agent.agent,
        round: head.round.round,
        seconds: (head.updated_at > head.created_at).then(|| {
            seconds(head.updated_at.as_micros().saturating_sub(head.created_at.as_micros()))
        }),
        ..RoundStatsRecord::default()
    };
    let mut seen = HashSet::new();
    for node in round.nodes() {
        *stats.nodes.entry(node.kind().as_str()).or_default() += 1;
        if node.kind() == TrajectoryNodeKind::Action {
            call(&mut stats, node, &mut seen);
        }
        let Some(measures) = &node.measures else { continue };
        stats.input_tokens += measures.input_tokens.unwrap_or(0);
        stats.output_tokens += measures.output_tokens.unwrap_or(0);
        if let Some(read) = measures.cache_read_tokens {
            *stats.cache_read_tokens.get_or_insert_default() += read;
        }
        if let Some(cost) = measures.cost_usd {
            *stats.cost_usd.get_or_insert_default() += cost;
        }
        stats.errors += usize::from(measures.error.is_some());
        if let (TrajectoryNodeKind::Action, Some(from), Some(to)) =
            (node.kind(), measures.started_at, measures.ended_at)
        {
            let took = seconds(to.as_micros().saturating_sub(from.as_micros()).max(0));
            *stats.call_seconds.get_or_insert_default() += took;
        }
    }
    if let Some(read) = stats.cache_read_tokens.filter(|_| stats.input_tokens > 0) {
        stats.cache_hit_rate = Some(read as f64 / stats.input_tokens as f64);
    }
    stats
}

fn call(
    stats: &mut RoundStatsRecord<'_>,
    node: &TrajectoryNode,
    seen: &mut HashSet<(String, String)>,
) {
    let json = |name: &str| node.body.get(name).map(|value| value.to_json().as_str().to_owned());
    stats.calls += 1;
    let params = json("params").unwrap_or_default();
    stats.repeated_calls += usize::from(!seen.insert((node.body.headline().to_owned(), params)));
    match (json("output").as_deref(), json("success").as_deref()) {
        (Some("\"Pending\""), _) => stats.waiting_calls += 1,
        (_, Some("true")) => {}
        _ => stats.failed_calls += 1,
    }
}

fn write(app: &mut App, stats: &RoundStatsRecord<'_>) -> Result<(), Failure> {
    let agent = if stats.agent == 0 { String::new() } else { format!("agent {} ", stats.agent) };
    let head = app.out.paint(Style::Bold, format!("{agent}round {}", stats.round)).to_string();
    let kinds =
        stats.nodes.iter().map(|(kind, n)| format!("{n} {kind}")).collect::<Vec<_>>().join(", ");
    let took = stats
        .seconds
        .map_or_else(|| "times not known".to_owned(), |seconds| format!("{seconds:.1} s"));
    app.out.line(format_args!("{head} of {} · {kinds} · {took}", clean(stats.session)))?;
    if stats.calls > 0 {
        let mut facts = vec![count(stats.calls, "call")];
        let named = [
            (stats.failed_calls, "failed"),
            (stats.waiting_calls, "waiting"),
            (stats.repeated_calls, "repeated"),
        ];
        facts.extend(named.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")));
        facts.extend(stats.call_seconds.map(|seconds| format!("{seconds:.1} s")));
        app.out.line(format_args!("  {}", facts.join(" · ")))?;
    }
    if stats.input_tokens + stats.output_tokens > 0 {
        let cached = stats
            .cache_hit_rate
            .map(|rate| format!(", {:.0}% from the cache", rate * 100.0))
            .unwrap_or_default();
        let (input, output) = (stats.input_tokens, stats.output_tokens);
        app.out.line(format_args!("  {input} tokens read{cached} · {output} written"))?;
    }
    if let Some(cost) = stats.cost_usd {
        app.out.line(format_args!("  ${cost:.4}"))?;
    }
    if stats.errors > 0 {
        app.out.line(format_args!("  {}", count(stats.errors, "error")))?;
    }
    Ok(())
}
