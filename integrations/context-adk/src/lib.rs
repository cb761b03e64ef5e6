//! [adk-rust](https://docs.rs/adk-session)'s sessions in any store of the context layer.
//!
//! [`AdkSessions`] is an `adk_session::SessionService`. Each session is a chat of its user, and each
//! event a message of that chat. So the inspector, search, the command and branches work on the
//! conversations of an ADK agent, in SQLite, PostgreSQL, Redis (which has no search) or memory.
//!
//! ```
//! use std::collections::HashMap;
//!
//! use adk_session::{CreateRequest, SessionService};
//! use context_adk::AdkSessions;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let store = context_runtime::open("mem:").await?; // or sqlite:trips.db
//! let sessions = AdkSessions::new(store); // for Runner::builder().session_service(…)
//!
//! let new = CreateRequest {
//!     app_name: "trips".into(),
//!     user_id: "ada".into(),
//!     session_id: Some("lisbon".into()),
//!     state: HashMap::from([("user:seat".into(), "window".into())]),
//! };
//! let session = sessions.create(new).await?;
//! assert_eq!(session.state().get("user:seat"), Some("window".into()));
//! # Ok(())
//! # }
//! ```
//!
//! # Where things are
//!
//! | of adk-rust | here |
//! |---|---|
//! | session `lisbon` of app `trips` and user `ada` | the chat `trips/lisbon` of `ada` |
//! | event | a message: its content in parts, the rest in the metadata under `adk` |
//! | state of the session | the initial state and the changes of the events on the active branch |
//! | `user:` state | metadata of the chat `/user/trips` of `ada` |
//! | `app:` state | metadata of the chat `/app/trips` of the user [`DIRECTORY`] |
//! | `temp:` state | is not stored |
//! | the owner of a session id | metadata of the chat `/session/lisbon` of [`DIRECTORY`] |
//!
//! A session has the states of all scopes, and a listed one, as in adk-rust, its own.
//!
//! A `/` in the name of an app is written as `%2F`, and a `%` as `%25`.
//!
//! # Differences from the stores of adk-rust
//!
//! * A rewind makes a branch and deletes nothing. The state of the session is that of the branch,
//!   also after a switch to another branch with the context layer.
//! * An event that is appended again with its id and content is stored once.
//! * Creating a session that exists is an error.
//! * `append_event`, which names the session alone, refuses an id that two users or apps have. The
//!   methods that name app, user and session address each session exactly.
//! * After a compaction of the context layer, a session has the events that the compaction shows.
//! * `app:` and `user:` state is written right before the event that changes it, not in one
//!   transaction with it.
//!
//! # Limits
//!
//! * An append gives up, with `session.busy`, after 64 other events came first.
//! * App and session together have at most 500 bytes; so does a user. The state of a scope has at
//!   most 1 MiB.
//! * Getting or listing a session reads its whole branch, since the state follows from the events.
//! * Erasing a user with the context layer leaves the ids of the user's sessions in the directory.
//!   `delete` and `delete_all_sessions` remove them.

mod convert;
mod directory;
mod error;
mod events;
mod keys;
mod service;
mod session;
mod state;

pub use keys::DIRECTORY;
pub use service::AdkSessions;
