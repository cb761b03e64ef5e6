//! Between a client and its server: connections that are cut, hang or are refused, as data says.

mod cuts;
mod relay;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

pub use cuts::{Cut, CutHow, CutPlan, Traffic, Way};
use relay::{Relay, State};

/// A TCP proxy on loopback in front of a server, for tests of what a client does about a network
/// that breaks.
///
/// It forwards everything until its [plan](Self::set_plan) says otherwise, and counts what passes,
/// so that a test can also ask how many round trips a call takes. Two programs that speak TCP can
/// be put on its sides; it reads nothing of what they say. Dropping it closes all connections.
///
/// ```
/// use context_conformance::{Cut, CutHow, CutPlan, CuttingProxy, Way};
/// use tokio::io::{AsyncReadExt, AsyncWriteExt};
/// use tokio::net::{TcpListener, TcpStream};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let server = TcpListener::bind("127.0.0.1:0").await?;
/// let proxy = CuttingProxy::start(server.local_addr()?).await?;
/// proxy.set_plan(CutPlan::default().with(Cut::new(Way::ToServer, 2, CutHow::Close)));
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
    /// Listens on a free port of 127.0.0.1 and forwards to `server`, which need not be there yet.
    /// Needs a tokio runtime with IO.
    ///
    /// # Errors
    ///
    /// If no port can be listened on.
    pub async fn start(server: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let state = Arc::new(State::default());
        let accepting = tokio::spawn(accept(listener, server, Arc::clone(&state)));
        Ok(Self { address, state, accepting })
    }

    /// Where clients connect.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Goes by this plan from now on, on connections there are and on new ones. Bytes are counted
    /// from now.
    pub fn set_plan(&self, plan: CutPlan) {
        self.state.arm(plan);
    }

    /// Whether new connections are closed as soon as they are made. Those there are stay.
    pub fn refuse(&self, refused: bool) {
        self.state.refuse(refused);
    }

    /// Closes every connection there is, as a server does that goes away. New ones are as before.
    pub fn cut_all(&self) {
        self.state.cut_all();
    }

    /// What has passed since the start.
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

async fn accept(listener: TcpListener, server: SocketAddr, state: Arc<State>) {
    // An error is one of a connection that is gone again, or of too many open files, which others
    // close.
    loop {
        let Ok((client, _)) = listener.accept().await else {
            tokio::task::yield_now().await;
            continue;
        };
        let Some((number, ends)) = state.accepted() else { continue };
        let state = Arc::clone(&state);
        tokio::spawn(async move {
            // A server that is not there is to the client one that closes at once.
            if let Ok(server) = TcpStream::connect(server).await {
                Relay::new(number, state, ends).run(client, server).await;
            }
        });
    }
}
