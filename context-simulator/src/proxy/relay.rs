//! A connection through the proxy, and the state that all connections share.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::watch;

use super::cuts::{Cut, CutKind, CutPlan, Direction, Traffic};

/// The size of a read buffer, in bytes.
const BUFFER: usize = 16 << 10;

/// The state that all connections share.
#[derive(Default)]
pub(super) struct State(Mutex<Inner>);

struct Inner {
    /// The pending cuts, with the number of bytes that each has counted.
    armed: Vec<(Cut, u64)>,
    refused: bool,
    traffic: Traffic,
    /// Every change of this value tells the connections to end.
    ends: watch::Sender<u64>,
    /// Whether all bytes wait in the proxy.
    held: watch::Sender<bool>,
    /// The server of new connections.
    server: Option<SocketAddr>,
}

impl Default for Inner {
    fn default() -> Self {
        let ((ends, _), (held, _)) = (watch::channel(0), watch::channel(false));
        let traffic = Traffic::default();
        Self { armed: Vec::new(), refused: false, traffic, ends, held, server: None }
    }
}

impl State {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn arm(&self, plan: CutPlan) {
        self.lock().armed = plan.cuts.into_iter().map(|cut| (cut, 0)).collect();
    }

    pub(super) fn refuse(&self, refused: bool) {
        self.lock().refused = refused;
    }

    pub(super) fn hold(&self, held: bool) {
        self.lock().held.send_replace(held);
    }

    /// Waits until bytes may pass.
    async fn released(&self) {
        let mut held = self.lock().held.subscribe();
        // The sender is a part of this state, so it is not gone.
        let _released = held.wait_for(|held| !held).await;
    }

    pub(super) fn redirect(&self, server: SocketAddr) {
        self.lock().server = Some(server);
    }

    pub(super) fn server(&self) -> Option<SocketAddr> {
        self.lock().server
    }

    pub(super) fn cut_all(&self) {
        self.lock().ends.send_modify(|n| *n += 1);
    }

    pub(super) fn traffic(&self) -> Traffic {
        self.lock().traffic
    }

    /// Returns the number of a new connection and its end signal, or `None` if the connection is
    /// refused.
    pub(super) fn accepted(&self) -> Option<(u64, watch::Receiver<u64>)> {
        let mut inner = self.lock();
        if inner.refused {
            inner.traffic.refused += 1;
            return None;
        }
        inner.traffic.connections += 1;
        Some((inner.traffic.connections - 1, inner.ends.subscribe()))
    }

    /// Returns kind many of the next bytes pass, and the cut that follows them, if any.
    fn pass(
        &self,
        connection: u64,
        direction: Direction,
        bytes: usize,
    ) -> (usize, Option<CutKind>) {
        let mut inner = self.lock();
        let (mut passing, mut cut) = (bytes, None);
        for (i, (armed, seen)) in inner.armed.iter_mut().enumerate() {
            if armed.direction != direction
                || armed.connection.is_some_and(|only| only != connection)
            {
                continue;
            }
            let left = armed.after - *seen;
            if left < passing as u64 {
                // The value is less than `passing`, so it fits.
                (passing, cut) = (left as usize, Some(i));
            }
        }
        for (armed, seen) in &mut inner.armed {
            if armed.direction == direction
                && armed.connection.is_none_or(|only| only == connection)
            {
                *seen += passing as u64;
            }
        }
        match direction {
            Direction::ToServer => inner.traffic.to_server += passing as u64,
            Direction::ToClient => inner.traffic.to_client += passing as u64,
        }
        let kind = cut.map(|i| inner.armed.remove(i).0.kind);
        inner.traffic.cuts += u64::from(kind.is_some());
        (passing, kind)
    }
}

/// A connection.
pub(super) struct Relay {
    number: u64,
    state: Arc<State>,
    ends: watch::Receiver<u64>,
    /// Whether the last bytes that passed went to the server.
    last_to_server: bool,
}

/// The result of a read from one side.
enum ReadOutcome {
    Bytes(Direction, usize),
    Closed(Direction),
    End,
}

impl Relay {
    pub(super) fn new(number: u64, state: Arc<State>, ends: watch::Receiver<u64>) -> Self {
        Self { number, state, ends, last_to_server: false }
    }

    /// Forwards until both sides have closed, one of them is gone, or the connection is cut.
    pub(super) async fn run(mut self, client: TcpStream, server: TcpStream) {
        // Disable Nagle's algorithm, since a delay would distort the measured traffic.
        let _without = (client.set_nodelay(true), server.set_nodelay(true));
        let (mut from_client, mut to_client) = client.into_split();
        let (mut from_server, mut to_server) = server.into_split();
        let (mut requests, mut replies) = (vec![0; BUFFER], vec![0; BUFFER]);
        let (mut asking, mut answering) = (true, true);
        while asking || answering {
            let event = tokio::select! {
                read = from_client.read(&mut requests), if asking => {
                    outcome(Direction::ToServer, read)
                }
                read = from_server.read(&mut replies), if answering => {
                    outcome(Direction::ToClient, read)
                }
                _ = self.ends.changed() => ReadOutcome::End,
            };
            let passed = match event {
                ReadOutcome::End => return,
                ReadOutcome::Closed(Direction::ToServer) => {
                    asking = false;
                    to_server.shutdown().await
                }
                ReadOutcome::Closed(Direction::ToClient) => {
                    answering = false;
                    to_client.shutdown().await
                }
                ReadOutcome::Bytes(direction, n) => {
                    tokio::select! {
                        () = self.state.released() => {}
                        _ = self.ends.changed() => return,
                    }
                    let (passing, cut) = self.state.pass(self.number, direction, n);
                    let passed = match direction {
                        Direction::ToServer => to_server.write_all(&requests[..passing]).await,
                        Direction::ToClient => to_client.write_all(&replies[..passing]).await,
                    };
                    self.take_turns(direction, passing);
                    match cut {
                        Some(CutKind::Close) => return,
                        Some(CutKind::Hang) => {
                            return self
                                .hang((from_client, to_client), (from_server, to_server))
                                .await;
                        }
                        None => passed,
                    }
                }
            };
            if passed.is_err() {
                return;
            }
        }
    }

    fn take_turns(&mut self, direction: Direction, passed: usize) {
        if passed == 0 {
            return;
        }
        let to_server = direction == Direction::ToServer;
        if self.last_to_server && !to_server {
            self.state.lock().traffic.turns += 1;
        }
        self.last_to_server = to_server;
    }

    /// Reads and discards all bytes until one side closes.
    async fn hang(
        mut self,
        (mut from_client, _to_client): (OwnedReadHalf, OwnedWriteHalf),
        (mut from_server, _to_server): (OwnedReadHalf, OwnedWriteHalf),
    ) {
        let (mut requests, mut replies) = (vec![0; BUFFER], vec![0; BUFFER]);
        loop {
            let event = tokio::select! {
                read = from_client.read(&mut requests) => outcome(Direction::ToServer, read),
                read = from_server.read(&mut replies) => outcome(Direction::ToClient, read),
                _ = self.ends.changed() => ReadOutcome::End,
            };
            if !matches!(event, ReadOutcome::Bytes(..)) {
                return;
            }
        }
    }
}

fn outcome(direction: Direction, read: std::io::Result<usize>) -> ReadOutcome {
    match read {
        Ok(0) => ReadOutcome::Closed(direction),
        Ok(n) => ReadOutcome::Bytes(direction, n),
        Err(_) => ReadOutcome::End,
    }
}
