//! Tests of the policy: the selection of results, their previews, media, texts of the user.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod bounds;
mod clearing;
mod helpers;
mod media;
mod properties;
mod selection;
mod user_texts;
