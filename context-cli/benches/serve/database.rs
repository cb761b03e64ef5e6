//! The database that the servers of both sides use, each its own part of it.

use std::fmt;

use tempfile::TempDir;
use tokio_postgres::NoTls;

/// The variable with the address of PostgreSQL.
pub(crate) const POSTGRES: &str = "CONTEXT_TEST_POSTGRES_URL";

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kind {
    Sqlite,
    Postgres,
}

impl Kind {
    pub(crate) const ALL: [Self; 2] = [Self::Sqlite, Self::Postgres];
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        })
    }
}

pub(crate) struct Database {
    pub(crate) kind: Kind,
    /// The address of PostgreSQL.
    server: String,
    /// The folder of the files of SQLite.
    folder: TempDir,
}

impl Database {
    /// Returns `None` if there is no such server.
    pub(crate) fn new(kind: Kind) -> Option<Self> {
        let server = match kind {
            Kind::Postgres => std::env::var(POSTGRES).ok()?,
            Kind::Sqlite => String::new(),
        };
        Some(Self { kind, server, folder: tempfile::tempdir().unwrap() })
    }

    /// Returns the URL of the store of a side.
    pub(crate) fn url(&self, side: &str) -> String {
        let sign = if self.server.contains('?') { '&' } else { '?' };
        match self.kind {
            Kind::Postgres => format!("{}{sign}schema={}", self.server, schema(side)),
            Kind::Sqlite => {
                format!("sqlite:{}", self.folder.path().join(format!("{side}.db")).display())
            }
        }
    }

    /// Removes what both sides wrote to a server.
    pub(crate) async fn clear(&self) {
        if self.kind != Kind::Postgres {
            return;
        }
        let (client, connection) = tokio_postgres::connect(&self.server, NoTls).await.unwrap();
        tokio::spawn(connection);
        for side in ["ours", "floor"] {
            let drop = format!("DROP SCHEMA IF EXISTS {} CASCADE", schema(side));
            client.batch_execute(&drop).await.unwrap();
        }
    }
}

fn schema(side: &str) -> String {
    format!("bench_serve_{}_{side}", std::process::id())
}
