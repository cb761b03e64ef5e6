//! A provider within the process: its rules, its window and its words, without its model.
//!
//! A [`Simulator`] takes the bodies that would go over the wire. It refuses what the published
//! rules of its provider do not allow ([`wire`](crate::wire)), what does not fit the window by the
//! counter it was given, images that are too many or too large, and more output than the model
//! writes, with status, form and words of the provider. What it takes it answers, whole or in
//! events, with usage; how much of that was read from a prompt cache is told as well, so that a
//! test can hold the cost of a conversation. Every refusal is read back by
//! [`ModelError::classify`](context_core::ModelError::classify), with the numbers that the provider
//! tells.
//!
//! | | |
//! |---|---|
//! | [`Behaviour`], [`Say`], [`Agent`] | what the model says |
//! | [`Script`], [`Fault`] | what goes wrong, with which request, as data |
//! | [`Replay`] | a recorded conversation, step by step |
//! | [`Reply`] | what an HTTP client would see |
//! | [`Served`] | what came of each request: tokens, cache, refusals |
//!
//! ```text
//! let simulator = Simulator::new(codec, counter).window(32_000).script([Fault::Overloaded]);
//! let reply = simulator.send(body);                        // 529, in the provider's form
//! let answer = simulator.complete(&request, &cancel).await?; // answered
//! assert_eq!(simulator.log()[1].cache_read, 0);
//! ```
//!
//! It is a [`LanguageModel`](context_core::model::LanguageModel) too. It reads no clock and draws
//! no randomness: ids are counted, and the same requests in the same order get the same replies.
//!
//! # What the words tell
//!
//! Not every provider says how much would have been allowed.
//!
//! | | `openai` | `openai-responses` | `anthropic` | `gemini` |
//! |---|---|---|---|---|
//! | window full | window, input | nothing | window, input | window, input |
//! | no room for the output asked for | window, input | not refused | window, input | not refused |
//! | more output than the model writes | the most | the most | the most | the most |
//! | too many images | the most | the most | the most | the most |
//! | an image of too many bytes | the most | the most | the most | nothing |
//! | an image of too many pixels | nothing | nothing | the most | nothing |
//! | too many requests | wait, in words | wait, in words | wait, in the header alone | wait, in the body |
//!
//! # What it does not do
//!
//! It opens no port (the feature `http` has a face of it that does, and servers that behave badly),
//! and keeps no conversations: every request brings all of its own. Its cache compares whole blocks
//! and forgets nothing; it looks at no price and at no key. What a provider does to images before
//! it counts them is the counter's business.

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
