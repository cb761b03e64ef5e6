//! Compaction policies by name and as stages: those whose features are on, as they are by default.

use std::sync::Arc;

use context_core::CompactionPolicy;

#[cfg(any(
    feature = "microcompact",
    feature = "strip-images",
    feature = "snip",
    feature = "summarize",
    feature = "truncate-head"
))]
use crate::runtime::Stage;

/// The policies that [`policy`] knows, gentle to harsh: the order in which a
/// [`Pipeline`](crate::compaction::Pipeline) should ask them.
pub const POLICIES: &[&str] = &[
    #[cfg(feature = "microcompact")]
    "microcompact",
    #[cfg(feature = "strip-images")]
    "strip-images",
    #[cfg(feature = "snip")]
    "snip",
    #[cfg(feature = "truncate-head")]
    "truncate-head",
];

/// The compaction policy of a name, as it is by default. A policy that needs a model is not among
/// them.
///
/// ```
/// use context_runtime::compaction::{POLICIES, policy};
///
/// for name in POLICIES {
///     assert_eq!(policy(name).expect("its feature is on").name(), *name);
/// }
/// assert!(policy("summarize").is_none());
/// ```
pub fn policy(name: &str) -> Option<Arc<dyn CompactionPolicy>> {
    match name {
        #[cfg(feature = "microcompact")]
        "microcompact" => Some(Arc::new(context_policy_microcompact::Microcompact::new())),
        #[cfg(feature = "strip-images")]
        "strip-images" => Some(Arc::new(context_policy_strip_images::StripImages::new())),
        #[cfg(feature = "snip")]
        "snip" => Some(Arc::new(context_policy_snip::Snip::new())),
        #[cfg(feature = "truncate-head")]
        "truncate-head" => Some(Arc::new(context_policy_truncate_head::TruncateHead::new())),
        _ => None,
    }
}

/// Shortens old results of tools. From 80 % of the window on.
#[cfg(feature = "microcompact")]
pub fn microcompact() -> Stage {
    Stage::new(context_policy_microcompact::Microcompact::new())
}

/// Takes media out, oldest first. From 90 % of the window on.
#[cfg(feature = "strip-images")]
pub fn strip_images() -> Stage {
    Stage::new(context_policy_strip_images::StripImages::new())
}

/// Lets a rolling checkpoint stand for what was long ago. From 90 % of the window on. A model
/// writes the summary: give the call one ([`ModelCall::summaries`](crate::ModelCall::summaries)),
/// else the stage cuts nothing.
#[cfg(feature = "summarize")]
pub fn summarize() -> Stage {
    Stage::new(context_policy_summarize::Summarize::new())
}

/// Leaves out turns in the middle. From 90 % of the window on; behind [`summarize`], where nothing
/// else helps.
#[cfg(feature = "snip")]
pub fn snip() -> Stage {
    Stage::new(context_policy_snip::Snip::new())
}

/// Keeps the newest part, where nothing else helps.
#[cfg(feature = "truncate-head")]
pub fn truncate_head() -> Stage {
    Stage::new(context_policy_truncate_head::TruncateHead::new())
}
