//! A TCP proxy that cuts, hangs or refuses connections according to a plan.

mod cuts;
mod relay;

use std::net::SocketAddr;
use std::sync::Arc;
use std::{fmt, io};

use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

pub use cuts::{Cut, CutKind, CutPlan, Direction, Traffic};
use relay::{Relay, State};

/// A TCP proxy on loopback in front of a server, for tests of clients on an unreliable network.
///
/// The proxy forwards everything until its [plan](Self::set_plan) says otherwise. It counts the
/// traffic, so that a test can also check the number of round trips of a call. It works for any
/// protocol over TCP, since it does not parse the bytes. Dropping the proxy closes all connections.
///
/// ```
/// use context_simulator::proxy::{Cut, CutKind, CutPlan, CuttingProxy, Direction};
/// use tokio::io::{AsyncReadExt, AsyncWriteExt};
/// use tokio::net::{TcpListener, TcpStream};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let server = TcpListener::bind("127.0.0.1:0").await?;
/// let proxy = CuttingProxy::start(server.local_addr()?).await?;
/// proxy.set_plan(CutPlan::default().with(Cut::new(Direction::ToServer, 2, CutKind::Close)));
///
/// let mut client = TcpStream::connect(proxy.address()).await?;
/// client.write_all(b"hello").await?;
/// let (mut served, _) = server.accept().await?;
/// let mut heard = String::new();
/// served.read_to_string(&mut heard).await?;
/// assert_eq!(heard, "he");
/// assert_eq!(proxy.traffic().cuts, 1);
/// # Ok(())
/// # }
/// ```
pub struct CuttingProxy {
    address: SocketAddr,
    state: Arc<State>,
    accepting: JoinHandle<()>,
}

impl CuttingProxy {
    /// Listens on a free port of 127.0.0.1 and forwards to `server`, which need not be running yet.
    /// Needs a tokio runtime with IO.
    ///
    /// # Errors
    ///
    /// If the proxy cannot listen on a port.
    pub async fn start(server: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let state = Arc::new(State::default());
        state.redirect(server);
        let accepting = tokio::spawn(accept(listener, Arc::clone(&state)));
        Ok(Self { address, state, accepting })
    }

    /// Returns the address that clients connect to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Replaces the plan, for existing and new connections. Byte counts start from zero.
    pub fn set_plan(&self, plan: CutPlan) {
        self.state.arm(plan);
    }

    /// Sets whether new connections are closed as soon as they are made. Existing connections stay
    /// open.
    pub fn refuse(&self, refused: bool) {
        self.state.refuse(refused);
    }

    /// Sets whether all bytes wait in the proxy, in both directions and on every connection. They
    /// pass in their order when the proxy no longer holds them.
    pub fn hold(&self, held: bool) {
        self.state.hold(held);
    }

    /// Forwards new connections to another server, and closes the existing ones, as an address that
    /// moves to another host.
    pub fn redirect(&self, server: SocketAddr) {
        self.state.redirect(server);
        self.state.cut_all();
    }

    /// Closes every existing connection, as a server does that goes away. New connections are not
    /// affected.
    pub fn cut_all(&self) {
        self.state.cut_all();
    }

    /// Returns the traffic since the start.
    pub fn traffic(&self) -> Traffic {
        self.state.traffic()
    }
}

impl fmt::Debug for CuttingProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("CuttingProxy");
        shown
            .field("address", &self.address)
            .field("traffic", &self.traffic())
            .finish_non_exhaustive()
    }
}

impl Drop for CuttingProxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.state.cut_all();
    }
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    // An error belongs to a connection that is gone already, or to too many open files. Files are
    // closed by other tasks.
    loop {
        let Ok((client, _)) = listener.accept().await else {
            tokio::task::yield_now().await;
            continue;
        };
        let Some((number, ends)) = state.accepted() else { continue };
        let Some(server) = state.server() else { continue };
        let state = Arc::clone(&state);
        tokio::spawn(async move {
            // To the client, a missing server looks like a server that closes at once.
            if let Ok(server) = TcpStream::connect(server).await {
                Relay::new(number, state, ends).run(client, server).await;
            }
        });
    }
}
