//! Runs the conformance suite on a cluster, where the chats of a user are in many slots.

mod subject;

use std::process::ExitCode;

use context_conformance::{find_server, ignore_all};

fn main() -> ExitCode {
    match find_server("CONTEXT_TEST_REDIS_CLUSTER_URL") {
        Ok(url) => subject::run("redis-cluster", &url),
        Err(missing) => ignore_all(&missing),
    }
}
