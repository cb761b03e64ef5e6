//! Real PostgreSQL, Redis and S3 servers for tests, and for tests only.
//!
//! A server listens on a port of 127.0.0.1 and on a Unix socket, and stores its files in its own
//! folder. The server ends and the folder is removed when its value is dropped, or when the owning
//! process ends in any way, including `kill -9`. A server can be killed and restarted with its
//! files, which is how tests check what a store guarantees after crashes.
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
//! # Search order of the programs
//!
//! | order | PostgreSQL | Redis |
//! |---|---|---|
//! | a folder in an environment variable | `CONTEXT_PG_BIN` | `CONTEXT_REDIS_BIN` |
//! | `PATH` | `initdb` next to `postgres` | `redis-server`, `valkey-server` |
//! | Debian packages | `/usr/lib/postgresql/<highest>/bin` | |
//! | Homebrew | `opt/postgresql@<highest>/bin` | `opt/redis/bin`, `opt/valkey/bin` |
//! | a cache, for programs unpacked by hand | `~/.cache/context-servers/postgresql/bin` | `~/.cache/context-servers/redis/bin` |
//!
//! The program of the S3 server, `moto_server` of the Python package `moto`, is searched in the
//! folder that `CONTEXT_MOTO_BIN` names, in `PATH` and in `~/.cache/context-servers/moto/bin`.
//!
//! If the caller is root, servers run as the user `postgres`, or `nobody`. Moto runs as the
//! caller.
//!
//! # Ending a server with its owner
//!
//! Each server has a keeper: a small shell that holds the read end of a pipe. The operating system
//! closes the write end when the owner dies. The keeper then ends the server and removes the
//! folder. The signal that Linux can send on a parent's death (`PR_SET_PDEATHSIG`) is not used: it
//! is sent when the *thread* that started the server ends, which in a test program is the thread of
//! the first test.
//!
//! # Limits
//!
//! This crate does not install or download anything, and does not run on Windows. It does not
//! protect the data from other users of the machine: any local user may connect.

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
mod s3;

pub use cluster::RedisCluster;
pub use error::{INSTALL, ServerError};
pub use postgres::{Postgres, PostgresOptions};
pub use redis::{Fsync, Redis, RedisOptions};
pub use s3::S3;
