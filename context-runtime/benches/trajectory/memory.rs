//! The memory of nodes, and of closed rounds. Measured in a separate process, as its anonymous
//! memory, so that allocations need not be counted.

use std::hint::black_box;
use std::ops::RangeInclusive;
use std::process::{Command, Stdio};
use std::sync::Arc;

use async_trait::async_trait;
use context_runtime::trajectory::{
    NewQuery, OpenOptions, RoundHead, RoundRecord, RoundState, Trajectories,
};
use context_runtime::{
    ChatId, MessageId, Result, UserId,
    store::{
        MessageNode, Page, RecordOutcome, RoundCommit, RoundPrune, RoundQuery, RoundsPruned,
        TrajectoryStore,
    },
    trajectory::AgentRef,
};

use crate::Bench;
use crate::board::Row;
use crate::data::{self, GrowingRound, NODES};

/// The flag that makes this program measure instead: `--held nodes|contexts N`.
pub(crate) const HELD: &str = "--held";

/// The maximum memory of a node with its edge, its label and its earlier form.
const LIMIT: u64 = 1024;
/// The number of closed rounds that are cached by default.
const KEPT: usize = 256;

/// A channel that accepts everything and stores nothing, so that the recorder alone is measured.
pub(crate) struct NullChannel;

#[async_trait]
impl TrajectoryStore for NullChannel {
    async fn record_round(&self, _: &RoundCommit) -> Result<RecordOutcome> {
        Ok(RecordOutcome::Applied)
    }

    async fn load_rounds(&self, _: &AgentRef, _: RangeInclusive<u32>) -> Result<Vec<RoundRecord>> {
        Ok(Vec::new())
    }

    async fn rounds(&self, _: &RoundQuery) -> Result<Page<RoundHead>> {
        Ok(Page { items: Vec::new(), next: None })
    }

    async fn nodes_of_message(
        &self,
        _: &UserId,
        _: &ChatId,
        _: &MessageId,
    ) -> Result<Vec<MessageNode>> {
        Ok(Vec::new())
    }

    async fn prune_rounds(&self, _: &RoundPrune) -> Result<RoundsPruned> {
        Ok(RoundsPruned::default())
    }
}

pub(crate) fn held(bench: &mut Bench) {
    const NODE: &str = "memory of a node, against 1 KiB";
    const CLOSED: &str = "memory of 1,000 closed rounds, against 256";
    if bench.options.has(NODE) {
        let n = 100_000;
        match bytes("nodes", n) {
            Some(bytes) => {
                bench.board.add(Row::sizes(NODE, n, bytes, LIMIT * n as u64).with_target(1.0));
            }
            None => {
                bench.board.note("memory is not measured here: the system has no /proc/self/status")
            }
        }
    }
    if bench.options.has(CLOSED)
        && let (Some(many), Some(few)) = (bytes("contexts", 1_000), bytes("contexts", KEPT))
    {
        bench.board.add(Row::sizes(CLOSED, KEPT, many, few).with_target(1.2));
    }
}

/// Returns the measurement of a separate process.
fn bytes(subject: &str, n: usize) -> Option<u64> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output =
        command.args([HELD, subject, &n.to_string()]).stderr(Stdio::inherit()).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().parse().ok()
}

/// Prints how many bytes something takes.
pub(crate) async fn measure(subject: &str, n: usize) {
    // Excludes what the first of each allocates.
    let _warm = (GrowingRound::of(data::agent("warm").round(0), NODES), closed(1).await);
    let Some(before) = anonymous() else { return };
    let after = match subject {
        "nodes" => {
            let rounds: Vec<GrowingRound> = (0..n / NODES)
                .map(|number| GrowingRound::of(data::agent("held").round(number as u32), NODES).0)
                .collect();
            let after = anonymous();
            black_box(rounds);
            after
        }
        _ => {
            let trajectories = closed(n).await;
            assert!(trajectories.open_rounds() <= KEPT);
            let after = anonymous();
            black_box(trajectories);
            after
        }
    };
    println!("{}", after.unwrap_or_default().saturating_sub(before));
}

/// Records, closes and releases this many rounds of as many sessions.
async fn closed(n: usize) -> Trajectories {
    let trajectories = Trajectories::over(Arc::new(NullChannel)).build().unwrap();
    for session in 0..n {
        let round = data::agent(&format!("session-{session}")).round(0);
        let context = trajectories.open(&round, OpenOptions::new()).await.unwrap();
        let mut last = context.ask(NewQuery::new("Where is it warm in March?")).await.unwrap();
        for i in 1..NODES {
            let id = context.add_later(data::place(i, data::body(i), last)).unwrap();
            last = data::last(i, id, last);
            if i % 3 == 2 {
                context.change_later(last, &data::output(i)).unwrap();
            }
        }
        context.close(RoundState::Closed).await.unwrap();
    }
    trajectories
}

/// Returns the anonymous memory of this process.
fn anonymous() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}
