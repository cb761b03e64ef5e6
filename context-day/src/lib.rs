//! A simulated day: users, agents, providers, tools, faults of the store, restarts, compactions in
//! the background, retention and erasure, all drawn from one seed, over a clock of its own.
//!
//! A [`Schedule`] turns a seed into [`DayStep`]s. A [`World`] carries them out over the facade, a
//! simulated provider and a store that fails on demand. After each step it checks the
//! [`Invariant`]s. A failing [`Day`] is shrunk to a short [`Story`], and is replayed by its seed
//! and the numbers of its steps.
//!
//! A store in memory is driven on one thread with a clock that stands still while anything can run,
//! so a seed means the same day on every machine. SQLite works on threads of its own: the steps are
//! the same, and each waits for its end.

mod day;
mod environment;
mod expected;
mod failure;
mod marker;
mod planted;
mod process;
mod providers;
mod resident;
mod scene;
mod schedule;
mod shrink;
mod step;
mod texts;
mod worker;
mod world;

pub use day::{Day, DayReport, Story};
pub use failure::{DayFailure, Invariant};
pub use marker::{DayMarker, markers};
pub use planted::PlantedDefect;
pub use process::Subject;
pub use scene::{CHATS, ChatSlot, USERS, UserSlot};
pub use schedule::Schedule;
pub use step::{DayStep, Reply};
pub use world::World;
