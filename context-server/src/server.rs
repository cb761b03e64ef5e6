//! A server on a port of this machine.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tokio::net::TcpListener;

use crate::listen::{ConnectionLimits, listen};
use crate::{Access, Operations, router_with};

/// The most connections. A page has a few.
const CONNECTIONS: usize = 256;

/// The inspector on a port of this machine, for the person in front of it.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    token: String,
}

impl Server {
    /// Opens a port on the loopback address: this one, or a free one. Requests need the token,
    /// which nobody may be able to guess.
    pub async fn bind(port: Option<u16>, token: impl Into<String>) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port.unwrap_or_default())).await?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address, token: token.into() })
    }

    /// Returns the port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Returns an address to open, with the token. `path` begins with a slash.
    pub fn url(&self, path: &str) -> String {
        let mark = if path.contains('?') { '&' } else { '?' };
        format!("http://{}{path}{mark}token={}", self.address, self.token)
    }

    /// Serves requests until `stop` is done. Connections that are open then are closed.
    pub async fn serve(
        self,
        operations: impl Into<Operations>,
        stop: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<()> {
        let application = router_with(operations, Access::loopback().token(self.token));
        // Events never end by themselves, so there is nothing to wait for.
        let limits = ConnectionLimits {
            connections: CONNECTIONS,
            headers: Duration::from_secs(30),
            grace: Duration::ZERO,
        };
        listen(self.listener, application, limits, stop).await
    }
}
