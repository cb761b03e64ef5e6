//! Contract tests for implementations of the extension traits of [`context_core`]: stores
//! ([`context_core::Store`]), renderers ([`context_core::Renderer`]), codecs
//! ([`context_core::model::ModelCodec`]), compaction policies ([`context_core::CompactionPolicy`])
//! and memory providers ([`context_core::MemoryProvider`]). Use this crate as a dev-dependency
//! only.
//!
//! # Prove your store
//!
//! Implement [`StoreFixture`] for your store in an integration test `tests/conformance.rs` with
//! `harness = false`:
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use async_trait::async_trait;
//! use context_conformance::StoreFixture;
//! use context_core::{Result, Store};
//! use context_store_inmem::InMemoryStore;
//!
//! struct InMemory;
//!
//! #[async_trait]
//! impl StoreFixture for InMemory {
//!     fn name(&self) -> &str {
//!         "inmem"
//!     }
//!
//!     async fn open(&self, _namespace: &str) -> Result<Arc<dyn Store>> {
//!         Ok(Arc::new(InMemoryStore::default()))
//!     }
//!
//!     async fn reopen(&self, _namespace: &str) -> Result<Option<Arc<dyn Store>>> {
//!         Ok(None) // right, since it says `Durability::Process`
//!     }
//!
//!     async fn second_handle(&self, _namespace: &str) -> Result<Option<Arc<dyn Store>>> {
//!         Ok(None) // right, since it says that it is not shared
//!     }
//! }
//!
//! context_conformance::conformance_main!(InMemory);
//! ```
//!
//! `cargo test --test conformance` then runs one test per case. Filters, `--list` and nextest work
//! as usual. An upgrade of this crate runs new cases against every store.
//!
//! In your own tests, [`assert_conforms`] does the same in one call, and [`run`] returns a
//! [`Report`].
//!
//! # Coverage
//!
//! | groups | what they check |
//! |---|---|
//! | `info`, `hygiene`, `limits` | what a store reports about itself, its errors, the input it refuses |
//! | `chats`, `listing` | chats, their metadata, paging through chats |
//! | `commit`, `branches`, `checkpoints`, `removal` | writing, forking, naming, renaming, deleting |
//! | `amend`, `redact` | changing stored content, with or without keeping its past |
//! | `read`, `windows` | chains and parts of chains, messages by id |
//! | `fragments`, `fidelity`, `isolation` | the data stored next to messages, byte for byte, isolated from other chats |
//! | `blobs`, `blob_references` | blobs next to messages, references to them, when they are removed |
//! | `streams`, `stream_reads` | streams of answers in flight: their writer, their end, what readers see |
//! | `stream_races`, `stream_removal` | concurrent writers and readers of one stream, and its removal |
//! | `stream_watch` | readers of streams are woken by every change |
//! | `rounds`, `round_values`, `round_listing`, `round_messages` | trajectories: commits to rounds, their contents, their listing |
//! | `round_removal`, `round_races` | removal of rounds, and concurrent writers of one round |
//! | `memories`, `memory_listing`, `memory_search` | memory records: writing, reading, paging, search results and their order |
//! | `memory_scopes`, `memory_removal`, `memory_races` | scope isolation, permanent forgetting, concurrent writers of one record |
//! | `search`, `search_hits` | search results, their order, and that they follow writes |
//! | `concurrency`, `cancel`, `fault` | races, dropped futures, lost replies |
//! | `linear` | recorded calls of many clients, for which there must be an order |
//! | `durability`, `processes`, `kill` | reopening, several processes, a killed process |
//! | `asked_durability` | commits that ask for more or less than the store's own durability |
//! | `maintenance` | checking, facts about the backend, erasing, reclaiming space, backups |
//! | `model` | random operations on a chat, compared with a small model of it |
//!
//! # Several processes
//!
//! A test program of [`conformance_main!`] runs itself as a child process once the subject tells
//! the location of a store ([`StoreFixture::location`], [`StoreFixture::open_at`]). The child
//! writes, acknowledges its writes, and is killed at random moments. A store that claims to outlive
//! its process must offer a location. [`run`] and [`assert_conforms`] start no child processes.
//!
//! # Loss of power
//!
//! [`power`] records what a process writes and syncs, builds the states in which a disk may be
//! after a loss of power, and has a test open each of them.
//!
//! # Faults
//!
//! The cases make calls of the store fail before or after they take effect, with
//! [`FaultStore`](context_simulator::faults::FaultStore). Use it for your own tests too, together
//! with [`context_simulator::proxy`], which cuts connections between a client and its server.
//!
//! # Differential tests
//!
//! [`assert_same`] plays random sequences of all calls to several stores and compares the visible
//! state after each step.
//!
//! # Skipped cases
//!
//! A case is skipped only if the store does not claim the ability that the case needs
//! ([`Requires`]). Skipped cases are shown as ignored, with the reason. A store that claims
//! durability fails if its subject cannot reopen it.
//!
//! The group `linear` checks the recorded calls of many clients for linearizability. To do so while
//! your servers are killed or your connections are cut, see [`linear`].
//!
//! # Prove your renderer
//!
//! [`renderer::assert_renderer_conforms`] renders random trees, ordinary and hostile, and looks for
//! content that is missing, moved or marked wrongly. A reader of the format, preferably a
//! third-party one, checks that hostile texts cannot break out of their element.
//!
//! # Prove your codec
//!
//! [`codec::assert_codec_conforms`] lowers random conversations after random damage, and checks the
//! resulting bodies against a set of rules. [`context_codec_kit::provider_rules`] has those of the
//! providers that the context layer knows. [`histories`] has the conversations, for your own tests.
//!
//! # Prove your policy
//!
//! [`policy::assert_policy_conforms`] runs a policy on random and hostile conversations and checks
//! the result of its plans. It returns the number of plans: a run in which the policy never
//! proposed one has proved nothing.
//!
//! # Prove your memory
//!
//! [`memory::assert_memory_conforms`] gives a memory provider conversations to capture, recalls
//! from many scopes, and has the provider forget.
//!
//! # All of them in one table
//!
//! The command `context-conformance` runs the tests of all crates of a workspace that have
//! `[package.metadata.context-conformance]` in their manifest, and prints a table: a row per case
//! and a column per implementation. It is installed from the repository of this crate:
//!
//! ```text
//! cargo install --git https://github.com/context-rs/context --locked xtask --bin context-conformance
//! context-conformance
//! ```
//!
//! # Reproducing a failure
//!
//! Random cases start from a fixed seed, which a failure prints. Environment variables set the seed
//! and more:
//!
//! | variable | meaning |
//! |---|---|
//! | `CONTEXT_CONFORMANCE_SEED` | the first seed of random cases |
//! | `CONTEXT_CONFORMANCE_CASES` | the number of random sequences |
//! | `CONTEXT_CONFORMANCE_GROUP` | the group of the cases to run; `renderer`, `codec`, `policy` and `memory` are groups |
//! | `CONTEXT_CONFORMANCE_CASE` | a part of the names of the cases to run |
//! | `CONTEXT_CONFORMANCE_REPORT` | a file to which each case of each suite appends a line of JSON when it begins, and one with its outcome |
//! | `CONTEXT_CONFORMANCE_KILLS` | the number of writing processes to kill |
//! | `PROPTEST_CASES` | the number of trees or conversations for a renderer, a codec or a policy |
//! | `CONTEXT_TEST_POSTGRES_URL`, `CONTEXT_TEST_REDIS_URL`, `CONTEXT_TEST_REDIS_CLUSTER_URL` | servers to test against, see [`server_url`] |
//! | `CONTEXT_REQUIRE_SERVICES` | fail instead of ignore if one of those is not set |
//!
//! Random choices come from the seed alone, and results do not depend on a clock, apart from time
//! limits. The crate does not provision servers and does not measure speed.

mod action;
mod blob_fixture;
mod case;
mod case_context;
mod cases;
mod chat_fixture;
mod child;
pub mod codec;
pub mod damage;
mod difference;
mod environment;
mod expect;
mod harness;
pub mod histories;
mod life;
pub mod linear;
pub mod memory;
mod memory_fixture;
mod missing;
mod model;
mod namespace;
pub mod policy;
mod polls;
pub mod power;
mod property;
pub mod renderer;
mod report;
mod round_fixture;
mod run;
mod script;
mod search_fixture;
mod service;
mod settings;
mod shrink;
mod step;
mod store_fixture;
mod stream_fixture;
mod suite_check;
mod test_program;
mod verdict;
mod visible_chat;
mod worker;

pub use case::{Case, Requires};
pub use cases::all as cases;
pub use difference::{Difference, assert_same, find_difference};
pub use environment::{FixedClock, SequenceIds};
pub use harness::{ignore_all, main};
pub use missing::Missing;
pub use namespace::file_name;
pub use report::{CaseResult, Report, SUITE_VERSION};
pub use run::{assert_conforms, run, run_with};
pub use service::{find_optional_server, find_server, server_url, test_data};
pub use settings::CaseSettings;
pub use store_fixture::StoreFixture;
pub use test_program::TestProgram;
pub use verdict::Verdict;
