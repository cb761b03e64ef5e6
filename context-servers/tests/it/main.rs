//! Checks that servers start, are killed, come back with their committed data, and leave nothing
//! behind.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may fail, and its child says what it starts"
)]

mod cluster;
mod owner;
mod postgres;
mod redis_server;
mod s3;

/// Whether a process exists.
fn exists(id: u32) -> bool {
    std::process::Command::new("sh")
        .args(["-c", &format!("kill -s 0 {id} 2>&-")])
        .status()
        .unwrap()
        .success()
}
