//! Finds secrets in text, JSON and messages, and masks them.
//!
//! # Found secrets
//!
//! * **By form**: tokens with a public prefix (`ghp_`, `sk-ant-`, `AKIA` and many others), JSON Web
//!   Tokens, private keys in PEM, passwords in URLs.
//!   [`SecretFinder::built_in_kinds`] lists the kinds.
//! * **By name**: the value behind a name such as `password`, `client_secret`, `API_KEY` or
//!   `--token`, in code, in files of variables, YAML and JSON, and the token of an HTTP header. The
//!   value must look random, so types, placeholders, references to variables and words are not
//!   found: `password: string`, `<your key>`, `xxxx`, `${TOKEN}`.
//! * **By rules of the program**: literal values and regular expressions; see
//!   [`SecretFinder::builder`].
//!
//! A secret that looks like a word of a language is found only by a literal rule, and so is one in
//! an encoding, such as Base64, other than the escapes of JSON.
//!
//! # Marks
//!
//! A secret is replaced by a mark that names its kind, such as `[secret:github-token]`. A mark is
//! the same for all secrets of a kind, needs no escape in JSON, and is never searched again, so
//! masking is idempotent.
//!
//! # Place among the crates
//!
//! Shared by stores, memory providers and the facade; it depends on `context-core` alone, and is
//! pure and synchronous. `context_core::base::secrets` is another function for another purpose: it
//! shortens keys in errors and summaries, and keeps their prefix.

mod alphabet;
mod finder;
mod forms;
mod json;
mod kind;
mod mark;
mod message;
mod names;
mod placeholder;
mod report;
mod rules;
mod structures;

pub use finder::{SecretFinder, SecretHit};
pub use kind::SecretKind;
pub use mark::mark;
pub use report::{MaskReport, SecretCounts, UnmaskablePlace};
pub use rules::{SecretFinderBuilder, SecretRuleError};
