//! A model provider within the process, planned faults, and recorded exchanges, for tests that need
//! no network and no luck. Use this crate as a dev-dependency only.
//!
//! | | |
//! |---|---|
//! | [`Simulator`] | a provider with the rules, the window and the error texts of a real one |
//! | `http` | the simulator over HTTP, and servers that misbehave (feature `http`) |
//! | [`faults`] | a store whose calls fail, hang or lose their reply according to a plan |
//! | [`proxy`] | a TCP proxy that cuts connections according to a plan |
//! | [`recordings`], [`conversations`] | recorded exchanges with providers, and conversations of agents |
//! | [`Random`] | random numbers that are the same on every machine |
//!
//! # The simulated provider
//!
//! A [`Simulator`] takes the bodies that would go over the wire. It refuses a body that breaks the
//! published [rules](context_codec_kit::provider_rules) of its provider, that does not fit the
//! window according to the given counter, that holds too many or too large images, or that asks for
//! more output than the model writes. A refusal has the provider's status, form and error text. A
//! valid body is answered, whole or as events, with usage. The usage includes the tokens read from
//! a prompt cache and written to it, so that a test can check the cost of a conversation. The cache
//! heeds breakpoints, keys and lifetimes; its entries expire by the clock that the test gives. It
//! compacts a conversation on request, in the forms of Anthropic and of OpenAI's Responses, with
//! the text of the behaviour as the summary, and clears old results of tools as Anthropic's context
//! editing does. `classify` of `context-codec-kit` recognizes every refusal, with the numbers that
//! the provider reports.
//!
//! | | |
//! |---|---|
//! | [`Behaviour`], [`AnswerPiece`], [`Agent`] | the replies of the model |
//! | [`Script`], [`ProviderFault`] | the faults and the requests that they affect, as data |
//! | [`ConversationReplay`] | a recorded conversation, step by step |
//! | [`SimulatedReply`] | the reply as an HTTP client would see it |
//! | [`Served`] | the outcome of each request: tokens, cache, refusals |
//!
//! ```text
//! let simulator = Simulator::new(codec, counter).window(32_000).script([ProviderFault::Overloaded]);
//! let reply = simulator.send(body);                        // 529, in the provider's form
//! let answer = simulator.complete(&request, &cancel).await?; // answered
//! assert_eq!(simulator.log()[1].cache_read, 0);
//! ```
//!
//! The simulator implements [`LanguageModel`](context_core::model::LanguageModel) too. It is
//! deterministic: it reads no clock, ids are counted, and the same requests in the same order get
//! the same replies.
//!
//! ## Numbers in error texts
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
//! ## Limits
//!
//! The simulator opens no port (with the feature `http`, a server for it does) and stores no
//! conversations: every request carries its whole conversation, or names content that was
//! [stored](Simulator::store_content). Its cache compares whole blocks. A request without a key
//! does not find the entries of one with a key. It ignores the keys of accounts. A counter that
//! wants to model how a provider scales images must do so itself.
//!
//! # Environment
//!
//! | variable | meaning |
//! |---|---|
//! | `CONTEXT_TEST_DATA` | the folder of test data, for [`recordings`] and [`conversations`] |
//! | `CONTEXT_PYTHON` | a Python with the providers' packages, for [`check_with_official_clients`] |

pub mod conversations;
pub mod faults;
#[cfg(feature = "http")]
pub mod http;
mod official_clients;
mod provider;
pub mod proxy;
mod random;
pub mod recordings;

pub use official_clients::{OfficialClientsError, check_with_official_clients};
pub use provider::{
    Agent, AnswerPiece, Behaviour, ConversationReplay, ProviderFault, ReplayStep, ReplyContent,
    Script, Served, SimulatedReply, Simulator,
};
pub use random::Random;
