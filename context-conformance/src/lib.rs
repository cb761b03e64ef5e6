//! Proves that a store keeps the contract of [`context_core::Store`], a renderer that of
//! [`context_core::Renderer`], a codec that of [`context_core::model::ModelCodec`], a policy that
//! of [`context_core::CompactionPolicy`], and a memory that of [`context_core::MemoryProvider`]. A
//! dev-dependency, never more.
//!
//! # Prove your store
//!
//! Say how to open it, in an integration test `tests/conformance.rs` with `harness = false`:
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use async_trait::async_trait;
//! use context_conformance::Subject;
//! use context_core::{Result, Store};
//! use context_store_inmem::InMemoryStore;
//!
//! struct InMemory;
//!
//! #[async_trait]
//! impl Subject for InMemory {
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
//! `cargo test --test conformance` then runs one test per case; filters, `--list` and nextest work
//! as usual. A new case reaches every store with an upgrade of this crate.
//!
//! In a test of your own, [`assert_conforms`] does the same in one call, and [`run`] gives a
//! [`Report`].
//!
//! # What is asked
//!
//! | groups | |
//! |---|---|
//! | `info`, `hygiene`, `limits` | what a store says of itself, its errors, what it refuses |
//! | `chats`, `listing` | chats, their metadata, pages of them |
//! | `commit`, `branches`, `checkpoints`, `removal` | writing, forking, naming, renaming, deleting |
//! | `amend`, `redact` | changing what is stored, with its past or without |
//! | `read`, `windows` | chains and parts of them, messages by id |
//! | `fragments`, `fidelity`, `isolation` | what is kept beside messages, byte for byte, apart from others |
//! | `blobs`, `blob_references` | bytes beside messages, who refers to them, when they go |
//! | `streams`, `stream_reads` | answers in flight: their writer, their end, what readers see |
//! | `stream_races`, `stream_removal` | many writers and readers of one, and when it goes |
//! | `rounds`, `round_values`, `round_listing`, `round_messages` | trajectories: commits to rounds, what they hold, which there are |
//! | `round_removal`, `round_races` | when rounds go, and many writers of one |
//! | `memories`, `memory_listing`, `memory_search` | records of memories: writing, reading, pages of them, what is found and in which order |
//! | `memory_scopes`, `memory_removal`, `memory_races` | nobody sees another's, what is forgotten stays so, many writers of one |
//! | `search`, `search_hits` | what is found, in which order, and that it follows what is written |
//! | `concurrency`, `cancel`, `fault` | races, dropped futures, lost replies |
//! | `durability`, `processes`, `kill` | opening again, several processes, a process that is killed |
//! | `maintenance` | checking, erasing, giving back space, backups |
//! | `model` | random lives of a chat, beside a small model of it |
//!
//! # Several processes
//!
//! A test program of [`conformance_main!`] runs itself as a child, which writes and acknowledges
//! and is killed at random moments, once the subject says where a store is ([`Subject::location`],
//! [`Subject::open_at`]). A store that claims to outlive its process must say so. [`run`] and
//! [`assert_conforms`] start no children.
//!
//! # Faults
//!
//! [`FaultStore`] makes chosen calls of any store fail before or after they did their work, for
//! tests of your own: a [`FaultPlan`] is data, random ones come from a seed and are shown as JSON.
//!
//! [`CuttingProxy`] stands between a client and its server and cuts connections as a [`CutPlan`]
//! says; it also counts round trips.
//!
//! # The same everywhere
//!
//! [`assert_same`] plays random sequences of all calls to several stores, and compares what is seen
//! after each step.
//!
//! # Skips are honest
//!
//! A case is only skipped if the store does not claim the ability ([`Requires`]); it is shown as
//! ignored, with the reason. A store that claims durability and whose subject cannot reopen it
//! fails.
//!
//! # Prove your renderer
//!
//! [`renderer::assert_renderer_conforms`] has random trees rendered, ordinary and hostile, and
//! looks for what is missing, moved or marked wrongly. A reader of the format, best somebody
//! else's, tells whether hostile texts stay in their place.
//!
//! # Prove your codec
//!
//! [`codec::assert_codec_conforms`] sends random conversations through a codec, after random
//! damage, and asks a checker of rules what it thinks of the bodies. [`wire`] has such checkers for
//! the providers the context layer knows, [`histories`] the conversations, for tests of your own.
//!
//! # A provider to test against
//!
//! [`simulator::Simulator`] takes a provider's bodies, refuses what the provider refuses, in its
//! words, and answers the rest as a small scripted model would: with usage, with a prompt cache,
//! with faults where a script says so. Recorded conversations to drive it with are in
//! [`conversations`]. With the feature `http` it is served at an address too, beside servers that
//! behave badly there: `simulator::http`.
//!
//! # Prove your policy
//!
//! [`policy::assert_policy_conforms`] asks a policy about random and hostile conversations, and
//! checks what its plans leave. It says how many plans there were: a policy that never has one has
//! proved nothing.
//!
//! # Prove your memory
//!
//! [`memory::assert_memory_conforms`] tells a provider of memories what was said, asks it from
//! everywhere, and has it forget.
//!
//! # Repeating a failure
//!
//! Random cases begin at a fixed seed, which a failure prints. The environment sets it and more:
//!
//! | variable | meaning |
//! |---|---|
//! | `CONTEXT_CONFORMANCE_SEED` | where random cases begin |
//! | `CONTEXT_CONFORMANCE_CASES` | how many random sequences are tried |
//! | `CONTEXT_CONFORMANCE_REPORT` | a file to which each case appends a line of JSON, in tests of renderers, codecs, policies and memories too |
//! | `CONTEXT_CONFORMANCE_KILLS` | how many writing processes are killed |
//! | `PROPTEST_CASES` | how many trees or conversations a renderer, a codec or a policy is asked about |
//! | `CONTEXT_TEST_POSTGRES_URL`, `CONTEXT_TEST_REDIS_URL`, `CONTEXT_TEST_REDIS_CLUSTER_URL` | servers to test against, see [`server_url`] |
//! | `CONTEXT_REQUIRE_SERVICES` | fail instead of skip where one of those is not set |
//! | `CONTEXT_PYTHON` | a Python with the providers' packages, for [`wire::second_opinion`] |
//! | `CONTEXT_TEST_DATA` | the folder of test data, for [`recordings`] and [`conversations`] |
//!
//! The kit reads no clock and draws no randomness. What it does not do: provision servers, measure
//! speed.

mod action;
mod case;
mod cases;
mod checked;
mod child;
pub mod codec;
pub mod conversations;
pub mod damage;
mod desk;
mod diary;
mod expect;
mod faults;
mod fixed;
mod flow;
mod harness;
pub mod histories;
mod lab;
mod life;
pub mod memory;
mod model;
mod namespace;
mod notebook;
pub mod policy;
mod polls;
mod property;
mod proxy;
mod random;
pub mod recordings;
pub mod renderer;
mod report;
mod reported;
mod run;
mod same;
mod script;
mod seek;
mod service;
mod settings;
mod shelf;
mod shrink;
pub mod simulator;
mod step;
mod subject;
mod visible;
pub mod wire;
mod worker;

pub use case::{Case, Requires};
pub use cases::all as cases;
pub use checked::Verdict;
pub use faults::{Fault, FaultPlan, FaultStore, Operation, PlannedFault};
pub use fixed::{FixedClock, SequenceIds};
pub use harness::main;
pub use namespace::file_name;
pub use proxy::{Cut, CutHow, CutPlan, CuttingProxy, Traffic, Way};
pub use random::Random;
pub use report::{CaseResult, Report, SUITE_VERSION};
pub use run::{assert_conforms, run, run_with};
pub use same::{Difference, assert_same, find_difference};
pub use service::server_url;
pub use settings::Settings;
pub use subject::Subject;
