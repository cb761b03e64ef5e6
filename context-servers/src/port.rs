//! Ports of 127.0.0.1 that nobody listens on.
//!
//! They are below those that the system gives to connections that go out. A port from there (which
//! is what binding to 0 gives) may be somebody's connection while its server is down between a kill
//! and a restart; one that tries to reach the server over and over may even meet itself there.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};

use crate::error::ServerError;

/// The first port that is tried, and how many there are. With [`BUS`] more it is still below 32768.
const FIRST: u16 = 12_000;
const MANY: u16 = 10_000;
/// A Redis Cluster's nodes talk to each other on a port so much higher.
pub(crate) const BUS: u16 = 10_000;

/// A port that was free a moment ago, and so was the one `BUS` above. Somebody else may be faster:
/// start the server, and take another if that says so.
pub(crate) fn free() -> Result<u16, ServerError> {
    // The state of a hasher is the standard library's one source of randomness.
    let start = (RandomState::new().build_hasher().finish() % u64::from(MANY)) as u16;
    let mut candidates = (0..MANY).map(|n| FIRST + (start + n) % MANY);
    let is_free = |port: u16| TcpListener::bind(address(port)).is_ok();
    let free = candidates.find(|port| is_free(*port) && is_free(*port + BUS));
    free.ok_or(ServerError::NoPort { first: FIRST, last: FIRST + MANY - 1 })
}

/// The port as an address of this machine.
pub(crate) fn address(port: u16) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)
}
