//! Compaction policies by name: those whose features are on and that need nothing but a history.

use std::sync::Arc;

use context_core::CompactionPolicy;

/// The policies that [`policy`] knows, gentle to harsh: the order in which a [`Pipeline`](crate::compaction::Pipeline) should ask them.
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

/// The compaction policy of a name, as it is by default. A policy that needs a model is not among them.
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
