//! Real PostgreSQL and Redis servers for tests, and for tests only.
//!
//! A server listens on a port of 127.0.0.1 and on a socket, keeps its files in a folder of its own,
//! and is gone with that folder when its value is dropped, or when the process that holds it ends
//! in whatever way, `kill -9` included. It can be killed and started again where it was, which is
//! how a store shows what it promises of crashes.
//!
//! ```no_run
//! use context_servers::{Fsync, Postgres, PostgresOptions, Redis, RedisOptions};
//!
//! let mut postgres = Postgres::start(PostgresOptions::new().durable(true))?;
//! let url = postgres.url("postgres"); // postgres://ctx@127.0.0.1:20417/postgres
//! // … commit something …
//! postgres.kill()?; // SIGKILL, to the server and every process of it
//! postgres.restart()?; // the same data at the same address
//!
//! let redis = Redis::start(RedisOptions::new().append_only(Fsync::Always))?;
//! let url = redis.url(); // redis://127.0.0.1:18230
//! # Ok::<_, context_servers::ServerError>(())
//! ```
//!
//! # Where the programs are looked for
//!
//! | order | PostgreSQL | Redis |
//! |---|---|---|
//! | a variable, a folder | `CONTEXT_PG_BIN` | `CONTEXT_REDIS_BIN` |
//! | `PATH` | `initdb` beside `postgres` | `redis-server`, `valkey-server` |
//! | packages of Debian | `/usr/lib/postgresql/<highest>/bin` | |
//! | Homebrew | `opt/postgresql@<highest>/bin` | `opt/redis/bin`, `opt/valkey/bin` |
//! | a cache, for what was unpacked by hand | `~/.cache/context-servers/postgresql/bin` | `~/.cache/context-servers/redis/bin` |
//!
//! Called by root, servers run as the user `postgres`, or `nobody`.
//!
//! # How a server ends with its owner
//!
//! Each has a keeper: a small shell that holds the reading end of a pipe. The system closes the
//! other end when the owner dies, and the keeper then ends the server and removes the folder. The
//! signal that Linux can send on a parent's death was not taken: it is sent when the *thread* ends
//! that started the server, which in a test program is the first test's.
//!
//! What this crate does not do: install anything, fetch anything, run on Windows, or anything that
//! is safe beside somebody who must not read the data: whoever is on the machine may connect.

mod account;
mod cluster;
mod error;
mod instance;
mod keeper;
mod pg_wire;
mod port;
mod postgres;
mod processes;
mod programs;
mod redis;
mod resp;

pub use cluster::RedisCluster;
pub use error::{INSTALL, ServerError};
pub use postgres::{Postgres, PostgresOptions};
pub use redis::{Fsync, Redis, RedisOptions};
