//! A cluster whose masters are killed: with the data of their files, or by a replica that takes
//! over.

use std::sync::Arc;

use async_trait::async_trait;
use context_conformance::linear::{
    ClientRun, ClientStore, Nemesis, PlantedFault, PlantedStore, RunNumbers,
    assert_faults_are_found, assert_linearizable,
};
use context_conformance::{CaseSettings, server_url};
use context_core::{BoxError, CancelSignal, Store};
use context_servers::{RedisCluster, ServerError};
use context_simulator::Random;
use tokio::task::block_in_place;

use crate::{handles, kept, own};

/// The number of masters.
const MASTERS: usize = 3;
/// The number of runs in which a planted fault must be found.
const TRIES: u64 = 25;
/// The number of histories from which on faults are planted too. A run with killed masters takes
/// seconds.
const MANY: u32 = 20;

fn cluster(start: impl FnOnce() -> Result<RedisCluster, ServerError>) -> RedisCluster {
    let _wanted = server_url("CONTEXT_TEST_REDIS_CLUSTER_URL");
    own(start())
}

/// Kills each master in turn, and starts it again with the same files.
struct RestartMaster(RedisCluster, usize);

#[async_trait]
impl Nemesis for RestartMaster {
    async fn strike(&mut self, _: &mut Random) -> Result<(), BoxError> {
        self.1 += 1;
        block_in_place(|| {
            let node = &mut self.0.nodes_mut()[self.1 % MASTERS];
            node.kill()?;
            node.restart()?;
            Ok(self.0.wait()?)
        })
    }
}

pub(crate) async fn calls_have_an_order_while_masters_are_killed() {
    let cluster = cluster(|| RedisCluster::start_with(kept()));
    let stores = handles(&cluster.urls()).await;
    let (cell, settings) = ("redis cluster killed masters", CaseSettings::from_env());
    let mut nemesis = RestartMaster(cluster, 0);
    let numbers = assert_linearizable(cell, &stores, &mut nemesis, &settings).await;
    println!("{cell}: {numbers:?}");
    if settings.histories >= MANY {
        let tries = assert_faults_are_found(cell, &stores[0], &mut nemesis).await;
        println!("{cell}: faults found in {tries} runs");
    }
}

/// Lets the replica of each master in turn take over.
struct FailOver(RedisCluster, usize);

#[async_trait]
impl Nemesis for FailOver {
    /// The chat of a run is on one of the masters.
    fn strikes(&self) -> u64 {
        MASTERS as u64
    }

    async fn strike(&mut self, _: &mut Random) -> Result<(), BoxError> {
        self.1 += 1;
        block_in_place(|| Ok(self.0.fail_over(self.1 % MASTERS)?))
    }
}

/// Plants faults in front of a store, and expects each to break the order of a run. Returns the
/// number of runs that it took.
async fn planted_faults_are_counted(store: &Arc<dyn Store>, nemesis: &mut FailOver) -> u64 {
    let mut tries = 0;
    for fault in PlantedFault::CLASSIC {
        let faulty = [ClientStore::new(Arc::new(PlantedStore::new(Arc::clone(store), fault)))];
        let mut violations = 0;
        for seed in 0..TRIES {
            tries += 1;
            let run = ClientRun::new("redis replica", seed, format!("{fault:?} {seed}"));
            violations += run.measure(&faulty, nemesis).await.unwrap().violations;
            if violations > 0 {
                break;
            }
        }
        assert!(violations > 0, "{fault:?} was not found in {TRIES} runs");
    }
    tries
}

/// A master acknowledges before its replica has the write, so what is lost is measured. The store
/// itself stays whole.
pub(crate) async fn a_replica_that_takes_over_may_lose_writes_and_leaves_a_sound_store() {
    let cluster = cluster(|| RedisCluster::start_with_replicas(kept()));
    let stores = handles(&cluster.urls()).await;
    let clients: Vec<_> = stores.iter().cloned().map(ClientStore::new).collect();
    let mut nemesis = FailOver(cluster, 0);
    let settings = CaseSettings::from_env();
    let mut numbers = RunNumbers::default();
    for i in 0..u64::from(settings.histories) {
        let seed = settings.seed.wrapping_add(i);
        let run = ClientRun::new("redis replica", seed, format!("user {i}")).appends();
        numbers.add(run.measure(&clients, &mut nemesis).await.unwrap());
    }
    println!("redis replica: {numbers:?}");
    if settings.histories >= MANY {
        let tries = planted_faults_are_counted(&stores[0], &mut nemesis).await;
        println!("redis replica: faults found in {tries} runs");
    }
    assert_eq!(numbers.runs, u64::from(settings.histories));
    let report = stores[0].maintenance().unwrap().check(&CancelSignal::never()).await.unwrap();
    assert_eq!(report.findings, []);
}
