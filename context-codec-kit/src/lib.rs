//! Parts that wire codecs share: the repair of a history, JSON kept as it was written, the
//! classification of provider errors, the cleaning of a client's history, and a check of whether a
//! provider accepts a request.
//!
//! A codec of a provider depends on this crate and on `context-core`. Readers of other programs'
//! files use its JSON half.
//!
//! | module | holds |
//! |---|---|
//! | [`wire`] | reading and building JSON objects whose values stay as they were written, media |
//! | [`mod@normalize`] | the one repair of a history and of a list of tools before they are sent |
//! | [`sanitize`] | histories from a client, without what a client cannot have made |
//! | [`provider_rules`] | whether a provider accepts a body or a request: every violation, with its path |
//! | [`mod@classify`] | errors of providers: the kind and the numbers, read out of any body |

pub mod classify;
pub mod normalize;
mod patch;
pub mod provider_rules;
pub mod sanitize;
pub mod wire;

pub use classify::classify;
pub use patch::JsonPatch;
