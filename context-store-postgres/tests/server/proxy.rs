//! A proxy in front of the server that counts the round trips of the client.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use context_store_postgres::PostgresConfig;
use sqlx::postgres::PgConnectOptions;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::fixture::StoreFixture;

pub(crate) struct Proxy {
    pub(crate) port: u16,
    answers: Arc<AtomicU64>,
}

impl Proxy {
    /// Starts a proxy for a server at this host and port.
    pub(crate) async fn of(server: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let answers = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&answers);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let upstream = TcpStream::connect(&server).await.unwrap();
                tokio::spawn(forward(client, upstream, Arc::clone(&counted)));
            }
        });
        Self { port, answers }
    }

    /// Starts a proxy for the server of a fixture. Returns it with a configuration that has one
    /// connection, through the proxy.
    pub(crate) async fn in_front_of(fixture: &StoreFixture) -> (Self, PostgresConfig) {
        let server: PgConnectOptions = fixture.url.parse().unwrap();
        let proxy = Self::of(format!("{}:{}", server.get_host(), server.get_port())).await;
        let url = format!(
            "postgres://{}@127.0.0.1:{}/{}?sslmode=disable",
            server.get_username(),
            proxy.port,
            server.get_database().unwrap_or("postgres")
        );
        let config = PostgresConfig::from_url(&url).unwrap().schema(fixture.schema.as_str());
        (proxy, config.connections(1))
    }

    /// Returns the number of round trips. Each ends when the server reports that it is ready for
    /// the next query.
    pub(crate) fn round_trips(&self) -> u64 {
        self.answers.load(Ordering::SeqCst)
    }
}

async fn forward(client: TcpStream, server: TcpStream, answers: Arc<AtomicU64>) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    tokio::spawn(async move {
        let _ = tokio::io::copy(&mut from_client, &mut to_server).await;
    });
    // The answer to a TLS request is a single byte without a frame, so the client must not ask for
    // TLS.
    loop {
        let mut header = [0; 5];
        if from_server.read_exact(&mut header).await.is_err() {
            return;
        }
        let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
        let mut body = vec![0; length - 4];
        if from_server.read_exact(&mut body).await.is_err() {
            return;
        }
        if header[0] == b'Z' {
            answers.fetch_add(1, Ordering::SeqCst);
        }
        if to_client.write_all(&header).await.is_err() || to_client.write_all(&body).await.is_err()
        {
            return;
        }
    }
}
