//! Connections: how many there are, how slow they may be, and how they end.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// The wait after the system refused a connection, for instance because there are too many files.
const PAUSE: Duration = Duration::from_millis(50);

/// The bounds of connections.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionLimits {
    /// The most connections. Further ones wait until one ends.
    pub(crate) connections: usize,
    /// The longest time that the headers of a request may take.
    pub(crate) headers: Duration,
    /// The longest time that requests go on after the server was stopped.
    pub(crate) grace: Duration,
}

/// Serves requests until `stop` is done. Requests that are being answered then go on until they are
/// done, but at most for the time of grace.
pub(crate) async fn listen(
    listener: TcpListener,
    application: Router,
    limits: ConnectionLimits,
    stop: impl Future<Output = ()> + Send,
) -> io::Result<()> {
    let permits = Arc::new(Semaphore::new(limits.connections));
    let graceful = GracefulShutdown::new();
    // Dropped with this function, which ends what is left of them.
    let mut connections = JoinSet::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let accept = async {
            // Never closed.
            let permit = Arc::clone(&permits).acquire_owned().await.ok();
            (listener.accept().await, permit)
        };
        let (accepted, permit) = tokio::select! {
            accepted = accept => accepted,
            () = &mut stop => break,
        };
        while connections.try_join_next().is_some() {}
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        // Answers are small, and events are to arrive at once.
        let _ = stream.set_nodelay(true);
        let service = TowerToHyperService::new(application.clone());
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.headers)
            .serve_connection(TokioIo::new(stream), service);
        let connection = graceful.watch(connection);
        connections.spawn(async move {
            // A client that goes away is no error of the server.
            let _ = connection.await;
            drop(permit);
        });
    }
    drop(listener);
    let _ = tokio::time::timeout(limits.grace, graceful.shutdown()).await;
    Ok(())
}
