//! An in-process provider with the rules, the window and the error texts of a real one, but no
//! model.
//!
//! A [`Simulator`] takes the bodies that would go over the wire. It refuses a body that breaks the
//! published rules of its provider ([`wire`](crate::wire)), that does not fit the window according
//! to the given counter, that holds too many or too large images, or that asks for more output than
//! the model writes. A refusal has the provider's status, form and error text. A valid body is
//! answered, whole or as events, with usage. The usage includes the tokens read from a prompt
//! cache, so that a test can check the cost of a conversation.
//! [`ModelError::classify`](context_core::ModelError::classify) recognizes every refusal, with the
//! numbers that the provider reports.
//!
//! | | |
//! |---|---|
//! | [`Behaviour`], [`Say`], [`Agent`] | the replies of the model |
//! | [`Script`], [`Fault`] | the faults and the requests that they affect, as data |
//! | [`Replay`] | a recorded conversation, step by step |
//! | [`Reply`] | the reply as an HTTP client would see it |
//! | [`Served`] | the outcome of each request: tokens, cache, refusals |
//!
//! ```text
//! let simulator = Simulator::new(codec, counter).window(32_000).script([Fault::Overloaded]);
//! let reply = simulator.send(body);                        // 529, in the provider's form
//! let answer = simulator.complete(&request, &cancel).await?; // answered
//! assert_eq!(simulator.log()[1].cache_read, 0);
//! ```
//!
//! The simulator implements [`LanguageModel`](context_core::model::LanguageModel) too. It is
//! deterministic: it reads no clock, ids are counted, and the same requests in the same order get
//! the same replies.
//!
//! # Numbers in error texts
//!
//! Not every provider reports the limit that a request exceeded.
//!
//! | | `openai` | `openai-responses` | `anthropic` | `gemini` |
//! |---|---|---|---|---|
//! | window full | window, input | nothing | window, input | window, input |
//! | no room for the requested output | window, input | not refused | window, input | not refused |
//! | more output than the model writes | the limit | the limit | the limit | the limit |
//! | too many images | the limit | the limit | the limit | the limit |
//! | an image of too many bytes | the limit | the limit | the limit | nothing |
//! | an image of too many pixels | nothing | nothing | the limit | nothing |
//! | too many requests | wait, in the text | wait, in the text | wait, in the header only | wait, in the body |
//!
//! # Limits
//!
//! The simulator opens no port (with the feature `http`, a server for it does) and stores no
//! conversations: every request carries its whole conversation. Its cache compares whole blocks and
//! never expires. It ignores prices and keys. A counter that wants to model how a provider scales
//! images must do so itself.

mod behaviour;
mod cache;
mod compose;
mod fault;
mod forms;
#[cfg(feature = "http")]
pub mod http;
mod images;
mod judge;
mod limits;
mod log;
mod prompt;
mod refusal;
mod replay;
mod reply;
mod said;
mod service;
mod signature;

pub use behaviour::{Agent, Behaviour, Say};
pub use fault::{Fault, Script};
pub use log::Served;
pub use replay::{Replay, ReplayStep};
pub use reply::{Reply, ReplyContent};
pub use service::Simulator;
