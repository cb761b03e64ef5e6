//! The simulated provider: reads a request, judges and answers it. The crate documentation has its
//! rules.

mod answer;
mod behaviour;
mod cache;
mod cached_contents;
mod compose;
mod edits;
mod fault;
mod forms;
mod images;
mod limits;
mod log;
mod prompt;
mod refusal;
mod replay;
mod reply;
mod signature;
mod simulator;
mod validator;

pub use behaviour::{Agent, AnswerPiece, Behaviour};
pub use fault::{ProviderFault, Script};
pub use log::Served;
pub use replay::{ConversationReplay, ReplayStep};
pub use reply::{ReplyContent, SimulatedReply};
pub use simulator::Simulator;
