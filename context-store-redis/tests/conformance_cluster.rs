//! Runs the conformance suite on a cluster, where the chats of a user are in many slots.

mod subject;

use std::process::ExitCode;

fn main() -> ExitCode {
    match context_conformance::server_url("CONTEXT_TEST_REDIS_CLUSTER_URL") {
        Some(url) => subject::run("redis-cluster", &url),
        None => ExitCode::SUCCESS,
    }
}
