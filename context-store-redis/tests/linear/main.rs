//! Recorded calls of many clients have an order while servers are killed and connections are cut.
//! The losses of a cluster whose replica takes over are counted. `CONTEXT_CONFORMANCE_HISTORIES`
//! sets the number of runs of each cell.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]
#![allow(clippy::print_stdout, reason = "what was run or skipped is said")]

use std::net::SocketAddr;
use std::sync::Arc;

use async_trait::async_trait;
use context_conformance::linear::{
    ClientRun, ClientStore, CutConnections, Nemesis, assert_faults_are_found, assert_linearizable,
};
use context_conformance::{CaseSettings, Missing, server_url};
use context_core::{BoxError, Store};
use context_servers::{Fsync, Redis, RedisOptions, ServerError};
use context_simulator::Random;
use context_simulator::proxy::CuttingProxy;
use context_store_redis::{RedisConfig, RedisStore};
use tokio::task::block_in_place;

/// The number of handles to the store.
const HANDLES: usize = 2;

/// Returns a server of this test's own. If there is none, the test is ignored.
fn own<T>(started: Result<T, ServerError>) -> T {
    match started {
        Ok(server) => server,
        Err(error @ ServerError::NotInstalled { .. }) => {
            Missing::new(error.to_string()).ignore_test()
        }
        Err(error) => panic!("{error}"),
    }
}

fn server(options: RedisOptions) -> Redis {
    let _wanted = server_url("CONTEXT_TEST_REDIS_URL");
    own(Redis::start(options))
}

/// The options of a server whose acknowledged writes outlive its process.
fn kept() -> RedisOptions {
    RedisOptions::new().append_only(Fsync::No)
}

async fn handles(url: &str) -> Vec<Arc<dyn Store>> {
    let mut handles: Vec<Arc<dyn Store>> = Vec::new();
    for _ in 0..HANDLES {
        let config = RedisConfig::from_url(url).unwrap().prefix("linear:");
        handles.push(Arc::new(RedisStore::open(config).await.unwrap()));
    }
    handles
}

fn url(address: SocketAddr) -> String {
    format!("redis://{address}")
}

/// Checks that all runs have an order, and that planted faults are found in the same way.
async fn check(cell: &str, url: &str, nemesis: &mut dyn Nemesis) {
    let stores = handles(url).await;
    let settings = CaseSettings::from_env();
    let numbers = assert_linearizable(cell, &stores, nemesis, &settings).await;
    let tries = assert_faults_are_found(cell, &stores[0], nemesis).await;
    println!("{cell}: {numbers:?}; faults found in {tries} runs");
}

/// Kills the server with SIGKILL and starts it again with the same files.
struct Restart(Redis);

#[async_trait]
impl Nemesis for Restart {
    async fn strike(&mut self, _: &mut Random) -> Result<(), BoxError> {
        block_in_place(|| {
            self.0.kill()?;
            Ok(self.0.restart()?)
        })
    }
}

async fn calls_have_an_order_while_the_server_is_killed() {
    let server = server(kept());
    let url = server.url();
    check("redis killed server", &url, &mut Restart(server)).await;
}

/// A server without a file acknowledges too early. This is found, and what is lost is counted.
async fn a_killed_server_without_a_file_is_found() {
    let server = server(RedisOptions::new());
    let stores = handles(&server.url()).await;
    let clients: Vec<_> = stores.into_iter().map(ClientStore::new).collect();
    let run = ClientRun::new("redis forgets", CaseSettings::from_env().seed, "ada").appends();
    let numbers = run.measure(&clients, &mut Restart(server)).await.unwrap();
    assert!(numbers.violations == 1 && numbers.lost > 0, "{numbers:?}");
}

async fn calls_have_an_order_while_connections_are_cut_and_delayed() {
    let server = server(kept());
    let proxy = CuttingProxy::start(server.address().into()).await.unwrap();
    let url = url(proxy.address());
    check("redis connections", &url, &mut CutConnections(proxy)).await;
}

#[cfg(feature = "cluster")]
mod cluster;

context_conformance::test_program! {
    multi_thread {
        calls_have_an_order_while_the_server_is_killed,
        a_killed_server_without_a_file_is_found,
        calls_have_an_order_while_connections_are_cut_and_delayed,
        #[cfg(feature = "cluster")]
        cluster::calls_have_an_order_while_masters_are_killed,
        #[cfg(feature = "cluster")]
        cluster::a_replica_that_takes_over_may_lose_writes_and_leaves_a_sound_store,
    }
}
