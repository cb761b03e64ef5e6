//! Writing: whole rounds, and node by node or turn by turn as a run proceeds.

use std::hint::black_box;
use std::sync::Arc;

use context_runtime::trajectory::{NewQuery, NodeId, OpenOptions, Trajectories};
use context_runtime::{
    Store,
    store::{RecordOutcome, RoundCommit},
};

use crate::Bench;
use crate::board::Row;
use crate::data::{self, GrowingRound};
use crate::floor::Floor;
use crate::memory::NullChannel;

/// The number of rounds that a paired round writes.
const WRITTEN: usize = 25;
/// The number of nodes that a paired round records, each with a commit of its own.
const RECORDED: usize = 150;

async fn open(bench: &Bench, name: &str) -> Arc<dyn Store> {
    context_runtime::open(&format!("sqlite:{}", bench.path(name).display())).await.unwrap()
}

async fn write(store: &dyn Store, commit: &RoundCommit) {
    let outcome = store.trajectories().unwrap().record_round(commit).await.unwrap();
    assert_eq!(outcome, RecordOutcome::Applied);
}

/// Writes rounds of 40 nodes, each in one commit.
pub(crate) async fn persist(bench: &mut Bench) {
    const CASE: &str = "persist a round of 40";
    if !bench.options.has(CASE) {
        return;
    }
    let ours = open(bench, "persist.ours").await;
    // Only creates the tables.
    drop(open(bench, "persist.floor").await);
    let floor = Floor::open(&bench.path("persist.floor"));
    let mut row = Row::new(CASE, data::NODES, "us", Some(1.8)).skip_first(2);
    for paired in 0..bench.options.rounds + 2 {
        let made = data::rounds(&data::agent("persist"), paired * WRITTEN..(paired + 1) * WRITTEN);
        row.ours(WRITTEN, async {
            for (_, commit) in &made {
                write(&*ours, commit).await;
            }
        })
        .await;
        let records: Vec<_> =
            made.iter().map(|(round, commit)| (commit, round.to_record())).collect();
        row.floor(WRITTEN, async {
            for (commit, record) in &records {
                floor.insert(commit, record);
            }
        })
        .await;
    }
    bench.board.add(row);
}

/// Writes the rounds of turns with one tool call as the turns proceed: the question, the answer
/// with its call and result, the final answer.
pub(crate) async fn turns(bench: &mut Bench) {
    const CASE: &str = "write the round of a turn, in 3 commits";
    if !bench.options.has(CASE) {
        return;
    }
    let ours = open(bench, "turns.ours").await;
    // Only creates the tables.
    drop(open(bench, "turns.floor").await);
    let floor = Floor::open(&bench.path("turns.floor"));
    let mut row = Row::new(CASE, data::TURN_NODES, "us", Some(1.8)).skip_first(2);
    for paired in 0..bench.options.rounds + 2 {
        let turns: Vec<_> = (paired * WRITTEN..(paired + 1) * WRITTEN).map(data::turn).collect();
        row.ours(WRITTEN, async {
            for (commit, _) in turns.iter().flatten() {
                write(&*ours, commit).await;
            }
        })
        .await;
        row.floor(WRITTEN, async {
            for [(first, asked), later @ ..] in &turns {
                let no = floor.insert(first, asked);
                let mut edges = 0;
                for (commit, added) in later {
                    floor.extend(no, commit, added, edges);
                    edges += added.edges.len();
                }
            }
        })
        .await;
    }
    bench.board.add(row);
}

/// A round of some size in a file, and its continuation.
struct StoredRound {
    growing: GrowingRound,
    store: Arc<dyn Store>,
}

impl StoredRound {
    async fn new(bench: &Bench, name: &str, nodes: usize) -> Self {
        let store = open(bench, name).await;
        let (mut growing, changes) = GrowingRound::new(data::agent("record").round(0));
        write(&*store, &growing.commit(changes)).await;
        while growing.next < nodes {
            let mut changes = Vec::new();
            for i in growing.next..nodes.min(growing.next + 1_000) {
                changes.extend(growing.add(data::body(i)));
            }
            write(&*store, &growing.commit(changes)).await;
        }
        Self { growing, store }
    }

    /// Returns commits of one node each.
    fn commits(&mut self) -> Vec<RoundCommit> {
        let growing = &mut self.growing;
        let one = |_| {
            let changes = growing.add(data::body(growing.next));
            growing.commit(changes)
        };
        (0..RECORDED).map(one).collect()
    }

    async fn write(&self, commits: &[RoundCommit]) {
        for commit in commits {
            write(&*self.store, commit).await;
        }
    }
}

pub(crate) async fn record(bench: &mut Bench) {
    const CASE: &str = "write a node of its own commit";
    const FLAT: &str = "write a node, against one of a small round";
    if [CASE, FLAT].into_iter().any(|case| bench.options.has(case)) {
        let mut small = stored(bench, CASE, 100).await;
        let mut large = stored(bench, CASE, 100_000).await;
        if bench.options.has(FLAT) {
            let mut row = Row::new(FLAT, 100_000, "us", Some(1.2)).skip_first(2);
            for _ in 0..bench.options.rounds + 2 {
                let commits = large.commits();
                row.ours(RECORDED, large.write(&commits)).await;
                let commits = small.commits();
                row.floor(RECORDED, small.write(&commits)).await;
            }
            bench.board.add(row);
        }
    }
    in_memory(bench).await;
}

/// Writes to a round of some size, and returns it.
async fn stored(bench: &mut Bench, case: &'static str, n: usize) -> StoredRound {
    let names = [format!("record-{n}.ours"), format!("record-{n}.floor")];
    let mut ours = StoredRound::new(bench, &names[0], n).await;
    // The floor continues with what our store has filled.
    let mut position = StoredRound::new(bench, &names[1], n).await.growing.round.edges().count();
    let floor = Floor::open(&bench.path(&names[1]));
    Floor::open(&bench.path(&names[0])).checkpoint();
    floor.checkpoint();
    if bench.options.has(case) {
        let mut row = Row::new(case, n, "us", Some(1.8)).skip_first(2);
        for _ in 0..bench.options.rounds + 2 {
            let commits = ours.commits();
            row.ours(RECORDED, ours.write(&commits)).await;
            row.floor(RECORDED, async {
                commits.iter().for_each(|commit| floor.append(1, &mut position, commit));
            })
            .await;
        }
        bench.board.add(row);
    }
    ours
}

/// Records over a channel that stores nothing, compared with the graph alone.
async fn in_memory(bench: &mut Bench) {
    const CASE: &str = "record a node, against the graph alone";
    const LATER: &str = "record a node later, against the graph alone";
    let trajectories = Trajectories::over(Arc::new(NullChannel)).build().unwrap();
    for (number, (case, waits)) in (0..).zip([(CASE, true), (LATER, false)]) {
        if !bench.options.has(case) {
            continue;
        }
        let round = data::agent("memory").round(number);
        let context = trajectories.open(&round, OpenOptions::new()).await.unwrap();
        let query = context.ask(NewQuery::new("Where is it warm in March?")).await.unwrap();
        let (mut growing, _) = GrowingRound::new(round);
        let (mut last, mut next) = (query, 1);
        let mut row = Row::new(case, RECORDED, "ns", None).skip_first(2);
        for _ in 0..bench.options.rounds + 2 {
            let bodies: Vec<_> = (next..next + RECORDED).map(data::body).collect();
            let again = bodies.clone();
            row.ours(RECORDED, async {
                for body in bodies {
                    let new = data::place(next, body, last);
                    let id: NodeId = match waits {
                        true => context.add(new).await.unwrap(),
                        false => context.add_later(new).unwrap(),
                    };
                    last = data::last(next, id, last);
                    next += 1;
                }
                context.flush().await.unwrap();
            })
            .await;
            row.floor(RECORDED, async {
                for body in again {
                    black_box(growing.add(body));
                }
            })
            .await;
        }
        assert_eq!(context.round().len(), growing.round.len());
        bench.board.add(row);
    }
}
