//! Free ports on 127.0.0.1.
//!
//! The ports are below the ephemeral range of outgoing connections. A port from that range (which
//! is what binding to port 0 returns) may be taken by a connection while its server is down between
//! a kill and a restart. A client that keeps reconnecting to the server may even connect to itself
//! there.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};

use crate::error::ServerError;

/// The first port and the number of ports to try. With [`BUS`] added, they are still below 32768.
const FIRST: u16 = 12_000;
const MANY: u16 = 10_000;
/// The offset of the port on which the nodes of a Redis Cluster talk to each other.
pub(crate) const BUS: u16 = 10_000;

/// Returns a port that is free now, as is the port [`BUS`] above it. Another process may take the
/// port first. In that case, starting the server fails, and the caller tries another port.
pub(crate) fn free() -> Result<u16, ServerError> {
    // The state of a hasher is the only source of randomness in the standard library.
    let start = (RandomState::new().build_hasher().finish() % u64::from(MANY)) as u16;
    let mut candidates = (0..MANY).map(|n| FIRST + (start + n) % MANY);
    let is_free = |port: u16| TcpListener::bind(address(port)).is_ok();
    let free = candidates.find(|port| is_free(*port) && is_free(*port + BUS));
    free.ok_or(ServerError::NoPort { first: FIRST, last: FIRST + MANY - 1 })
}

/// Returns the port as an address of this machine.
pub(crate) fn address(port: u16) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)
}
