//! A server on a port of this machine.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::serve::Listener;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use crate::{Access, Operations, router_with};

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
        // Its other end goes with this function, also if that is dropped.
        let (_open, closed) = oneshot::channel::<()>();
        let closed = async move { drop(closed.await) }.boxed().shared();
        let listener = ClosingListener { listener: self.listener, closed };
        tokio::select! {
            served = axum::serve(listener, application).into_future() => served,
            // Events never end by themselves, so there is nothing to wait for.
            () = stop => Ok(()),
        }
    }
}

/// Resolves when all connections are to be closed.
type Closed = Shared<BoxFuture<'static, ()>>;

/// Accepts connections that end with the server: each is a task of its own, which would go on.
struct ClosingListener {
    listener: TcpListener,
    closed: Closed,
}

impl Listener for ClosingListener {
    type Io = ClosingStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (ClosingStream, SocketAddr) {
        let (stream, address) = Listener::accept(&mut self.listener).await;
        (ClosingStream { stream, closed: self.closed.clone() }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection that reads its end when all connections are to be closed.
struct ClosingStream {
    stream: TcpStream,
    closed: Closed,
}

impl AsyncRead for ClosingStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        // `Shared` panics if it is asked again after its end.
        if self.closed.peek().is_some() || self.closed.poll_unpin(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for ClosingStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
