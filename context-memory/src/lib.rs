//! Providers of memories: what is worth remembering comes back, and only to whom it belongs.

mod chain;
mod cost;
mod episodic;
mod id;
mod passages;
mod queue;
mod rank;
pub mod words;

pub use chain::Chain;
pub use episodic::{EPISODE, Episodic, Reach, episodic};
pub use queue::Queued;
