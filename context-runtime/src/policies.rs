//! Compaction policies by name and as stages: those whose features are on, with default options.

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

/// The policies that [`policy`] knows, from least to most lossy: the order in which a
/// [`Pipeline`](crate::compaction::Pipeline) should run them.
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

/// Returns the compaction policy with a name, with default options. Policies that need a model are
/// not included.
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

/// Returns a stage that shortens old tool results. Runs from 80 % of the window on.
#[cfg(feature = "microcompact")]
pub fn microcompact() -> Stage {
    Stage::new(context_policy_microcompact::Microcompact::new())
}

/// Returns a stage that removes media, oldest first. Runs from 90 % of the window on.
#[cfg(feature = "strip-images")]
pub fn strip_images() -> Stage {
    Stage::new(context_policy_strip_images::StripImages::new())
}

/// Returns a stage that replaces old turns by a rolling checkpoint. Runs from 90 % of the window
/// on. A model writes the summary: pass one to the call
/// ([`ModelCall::summaries`](crate::ModelCall::summaries)), otherwise the stage cuts nothing.
#[cfg(feature = "summarize")]
pub fn summarize() -> Stage {
    Stage::new(context_policy_summarize::Summarize::new())
}

/// Returns a stage that leaves out turns in the middle. Runs from 90 % of the window on, or after
/// [`summarize`] only as a last resort.
#[cfg(feature = "snip")]
pub fn snip() -> Stage {
    Stage::new(context_policy_snip::Snip::new())
}

/// Returns a stage that keeps only the newest part, as a last resort.
#[cfg(feature = "truncate-head")]
pub fn truncate_head() -> Stage {
    Stage::new(context_policy_truncate_head::TruncateHead::new())
}
