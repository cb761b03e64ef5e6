//! Recorded calls of many clients have an order while servers are killed, connections are cut, and
//! a standby takes over. `CONTEXT_CONFORMANCE_HISTORIES` sets the number of runs of each cell.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]
#![allow(clippy::print_stdout, reason = "what was run or skipped is said")]

mod nemesis;

use std::net::SocketAddr;
use std::sync::Arc;

use context_conformance::linear::{
    CutConnections, Nemesis, assert_faults_are_found, assert_linearizable,
};
use context_conformance::{CaseSettings, Missing, server_url};
use context_core::Store;
use context_servers::{Postgres, PostgresOptions, ServerError};
use context_simulator::proxy::CuttingProxy;
use context_store_postgres::{PostgresConfig, PostgresStore};

use nemesis::{FailOver, Restart};

/// The number of handles to the store.
const HANDLES: usize = 2;

/// Starts a server of its own. What it acknowledged outlives the process of the server. If there is
/// none, the test is ignored.
fn server() -> Postgres {
    let _wanted = server_url("CONTEXT_TEST_POSTGRES_URL");
    let options = PostgresOptions::new().setting("synchronous_commit", "on");
    match Postgres::start(options) {
        Ok(server) => server,
        Err(error @ ServerError::NotInstalled { .. }) => {
            Missing::new(error.to_string()).ignore_test()
        }
        Err(error) => panic!("{error}"),
    }
}

async fn handles(address: SocketAddr) -> Vec<Arc<dyn Store>> {
    let url = format!("postgres://ctx@{address}/postgres?sslmode=disable");
    let mut handles: Vec<Arc<dyn Store>> = Vec::new();
    for _ in 0..HANDLES {
        let config = PostgresConfig::from_url(&url).unwrap().schema("linear").connections(4);
        handles.push(Arc::new(PostgresStore::open(config).await.unwrap()));
    }
    handles
}

/// Checks that all runs have an order, and that planted faults are found in the same way.
async fn check(cell: &str, address: SocketAddr, nemesis: &mut dyn Nemesis) {
    let stores = handles(address).await;
    let settings = CaseSettings::from_env();
    let numbers = assert_linearizable(cell, &stores, nemesis, &settings).await;
    let tries = assert_faults_are_found(cell, &stores[0], nemesis).await;
    println!("{cell}: {numbers:?}; faults found in {tries} runs");
}

async fn calls_have_an_order_while_the_server_is_killed() {
    let server = server();
    let address = server.address().into();
    check("postgres killed server", address, &mut Restart(server)).await;
}

async fn calls_have_an_order_while_connections_are_cut_and_delayed() {
    let server = server();
    let proxy = CuttingProxy::start(server.address().into()).await.unwrap();
    let address = proxy.address();
    check("postgres connections", address, &mut CutConnections(proxy)).await;
}

async fn calls_have_an_order_while_a_synchronous_standby_takes_over() {
    let primary = server();
    let proxy = CuttingProxy::start(primary.address().into()).await.unwrap();
    let address = proxy.address();
    let mut nemesis = FailOver::new(primary, proxy).unwrap();
    check("postgres standby", address, &mut nemesis).await;
}

context_conformance::test_program! {
    multi_thread {
        calls_have_an_order_while_the_server_is_killed,
        calls_have_an_order_while_connections_are_cut_and_delayed,
        calls_have_an_order_while_a_synchronous_standby_takes_over,
    }
}
