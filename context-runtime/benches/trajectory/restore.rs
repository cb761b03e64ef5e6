//! Restoring a session: all rounds of an agent from SQLite, checked, as graphs, with bridges.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

use context_runtime::trajectory::{
    BridgeFrom, OpenOptions, Round, RoundRecord, Trajectories, Trajectory,
};
use context_runtime::{Store, store::RecordOutcome, trajectory::AgentRef};

use crate::Bench;
use crate::board::Row;
use crate::data::{self, NODES};
use crate::floor::Floor;

const SIZES: [(&str, usize); 2] = [("short", 50), ("long", 500)];

async fn whole(trajectories: &Trajectories, agent: &AgentRef, rounds: usize) {
    let trajectory = trajectories.trajectory(agent).await.unwrap();
    assert_eq!(trajectory.len(), rounds * NODES);
    black_box(trajectory);
}

async fn fill(store: &dyn Store, agent: &AgentRef, rounds: usize) {
    for (_, commit) in data::rounds(agent, 0..rounds) {
        let outcome = store.trajectories().unwrap().record_round(&commit).await.unwrap();
        assert_eq!(outcome, RecordOutcome::Applied);
    }
}

pub(crate) async fn restore(bench: &mut Bench) {
    /// A tenth of the peer's time, 11 ms for 2,000 nodes, is 2.6 times the floor.
    const TARGET: f64 = 2.1;
    const CASE: &str = "restore and bridge rounds of 40";
    const LINEAR: &str = "restore a node of 500 rounds, against 50";
    let path = bench.path("restore.ours");
    let store = context_runtime::open(&format!("sqlite:{}", path.display())).await.unwrap();
    for (session, rounds) in SIZES {
        fill(&*store, &data::agent(session), rounds).await;
    }
    let floor = Floor::open(&path);
    floor.checkpoint();
    let trajectories = Trajectories::builder(Arc::clone(&store)).build().unwrap();
    for (session, rounds) in SIZES.into_iter().filter(|_| bench.options.has(CASE)) {
        let agent = data::agent(session);
        let mut row = Row::new(CASE, rounds * NODES, "us", Some(TARGET)).skip_first(2);
        for _ in 0..bench.options.rounds + 2 {
            row.ours(1, whole(&trajectories, &agent, rounds)).await;
            row.floor(1, async { assert!(floor.scan(session) > rounds * NODES) }).await;
        }
        bench.board.add(row);
    }
    if bench.options.has(LINEAR) {
        let [(short, few), (long, many)] = SIZES;
        let (short, long) = (data::agent(short), data::agent(long));
        let mut row = Row::new(LINEAR, many * NODES, "us", Some(1.2)).skip_first(2);
        for _ in 0..bench.options.rounds + 2 {
            row.ours(many * NODES, whole(&trajectories, &long, many)).await;
            row.floor(many * NODES, async {
                for _ in 0..many / few {
                    whole(&trajectories, &short, few).await;
                }
            })
            .await;
        }
        bench.board.add(row);
    }
    in_memory(bench).await;
}

/// Opens the end of a long trajectory to go on with it, compared with the same of a short one.
pub(crate) async fn end(bench: &mut Bench) {
    const CASE: &str = "open a trajectory at its end, against 100";
    const ROUNDS: [usize; 2] = [100, 25_000];
    const TIMES: usize = 20;
    if !bench.options.has(CASE) {
        return;
    }
    let [short, long] = ROUNDS.map(|rounds| bench.path(&format!("end-{rounds}.ours")));
    let short = ended(&short, ROUNDS[0]).await;
    let long = ended(&long, ROUNDS[1]).await;
    let mut row = Row::new(CASE, ROUNDS[1] * NODES, "us", Some(1.2)).skip_first(2);
    for _ in 0..bench.options.rounds + 2 {
        row.ours(TIMES, open_end(&long, ROUNDS[1], TIMES)).await;
        row.floor(TIMES, open_end(&short, ROUNDS[0], TIMES)).await;
    }
    bench.board.add(row);
}

/// Returns a store with an agent of this many rounds, which are made one by one: all of them would
/// not fit the memory.
async fn ended(path: &Path, rounds: usize) -> Arc<dyn Store> {
    let store = context_runtime::open(&format!("sqlite:{}", path.display())).await.unwrap();
    for (_, commit) in (0..rounds).flat_map(|at| data::rounds(&data::agent("end"), at..at + 1)) {
        let outcome = store.trajectories().unwrap().record_round(&commit).await.unwrap();
        assert_eq!(outcome, RecordOutcome::Applied);
    }
    Floor::open(path).checkpoint();
    store
}

/// Reads the newest two rounds and opens the newest one.
async fn open_end(store: &Arc<dyn Store>, rounds: usize, times: usize) {
    for _ in 0..times {
        // A recorder of its own has no round in memory.
        let trajectories = Trajectories::builder(Arc::clone(store)).build().unwrap();
        let end = trajectories.trajectory_end(&data::agent("end"), 2).await.unwrap();
        assert_eq!((end.len(), end.continues_from()), (2 * NODES, Some(rounds as u32 - 3)));
        let newest = end.rounds().next_back().unwrap().round();
        let open = trajectories.open(newest, OpenOptions::new()).await.unwrap();
        assert_eq!(open.round().len(), NODES);
    }
}

/// Measures the work after the rows are read, compared with only collecting the records.
async fn in_memory(bench: &mut Bench) {
    const CASE: &str = "graphs and bridges of what was read";
    const TIMES: usize = 10;
    if !bench.options.has(CASE) {
        return;
    }
    for (session, rounds) in SIZES {
        let made = data::rounds(&data::agent(session), 0..rounds);
        let records: Vec<RoundRecord> = made.iter().map(|(round, _)| round.to_record()).collect();
        let mut row = Row::new(CASE, rounds * NODES, "us", None).skip_first(2);
        for _ in 0..bench.options.rounds + 2 {
            let mut copies: Vec<_> = (0..TIMES).map(|_| records.clone()).collect();
            row.ours(TIMES, async {
                for records in copies.drain(..) {
                    let rounds =
                        records.into_iter().map(|it| Arc::new(Round::from_record(it).unwrap()));
                    black_box(Trajectory::new(rounds, BridgeFrom::default()));
                }
            })
            .await;
            row.floor(TIMES, async {
                for _ in 0..TIMES {
                    black_box(records.clone());
                }
            })
            .await;
        }
        bench.board.add(row);
    }
}
