//! A port on loopback, and the tasks of its connections.

use std::future::Future;
use std::net::SocketAddr;
use std::{fmt, io};

use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

/// A listening port. Dropping it ends every connection.
pub(super) struct Port {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Port {
    /// Listens on a free port of 127.0.0.1 and serves each connection with `serve`.
    pub(super) async fn open<F, S>(serve: F) -> io::Result<Self>
    where
        F: Fn(TcpStream) -> S + Send + 'static,
        S: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let task = tokio::spawn(async move {
            // Dropped with this task, which aborts the tasks of the connections.
            let mut connections = JoinSet::new();
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => _ = connections.spawn(serve(stream)),
                    // The connection is gone already, or too many files are open. Files are closed
                    // by other tasks.
                    Err(_) => tokio::task::yield_now().await,
                }
                while connections.try_join_next().is_some() {}
            }
        });
        Ok(Self { address, task })
    }

    /// Listens without accepting. The operating system completes handshakes until its queue is
    /// full.
    pub(super) async fn closed() -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let task = tokio::spawn(async move {
            std::future::pending::<()>().await;
            drop(listener);
        });
        Ok(Self { address, task })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl fmt::Debug for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.address, f)
    }
}
