//! Compaction policies by name and as stages: those whose features are on, with default options.

use std::sync::Arc;

use context_core::CompactionPolicy;

/// Defines the policies that need no model, from least to most lossy: each feature with its stage.
macro_rules! policies {
    ($($feature:literal => $policy:path, $(#[doc = $doc:literal])+ $stage:ident;)+) => {
        /// The policies that [`policy`] knows, from least to most lossy: the order in which a
        /// [`Pipeline`](crate::compaction::Pipeline) should run them.
        pub const POLICIES: &[&str] = &[$(#[cfg(feature = $feature)] $feature),+];

        /// Returns the compaction policy with a name, with default options. Policies that need a
        /// model are not included.
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
                $(#[cfg(feature = $feature)] $feature => Some(Arc::new(<$policy>::new())),)+
                _ => None,
            }
        }

        $(
            $(#[doc = $doc])+
            #[cfg(feature = $feature)]
            pub fn $stage() -> crate::runtime::Stage {
                crate::runtime::Stage::new(<$policy>::new())
            }
        )+
    };
}

policies! {
    "microcompact" => context_policy_microcompact::Microcompact,
    /// Returns a stage that shortens old tool results. Runs from 80 % of the window on.
    microcompact;
    "strip-images" => context_policy_strip_images::StripImages,
    /// Returns a stage that removes media, oldest first. Runs from 90 % of the window on.
    strip_images;
    "snip" => context_policy_snip::Snip,
    /// Returns a stage that leaves out turns in the middle. Runs from 90 % of the window on, or
    /// after [`summarize`] only as a last resort.
    snip;
    "truncate-head" => context_policy_truncate_head::TruncateHead,
    /// Returns a stage that keeps only the newest part, as a last resort.
    truncate_head;
}

/// Returns a stage that replaces old turns by a rolling checkpoint. Runs from 90 % of the window
/// on. A model writes the summary: pass one to the call
/// ([`ModelCall::summaries`](crate::ModelCall::summaries)), otherwise the stage cuts nothing.
#[cfg(feature = "summarize")]
pub fn summarize() -> crate::runtime::Stage {
    crate::runtime::Stage::new(context_policy_summarize::Summarize::new())
}

/// Returns a stage that lets the provider of the conversation compact old turns
/// ([`ProviderCompact`](crate::summarize::ProviderCompact)). Runs from 90 % of the window on, in
/// the place of [`summarize`], as which it works where the provider makes no compactions. The model
/// of the call's summaries has to be the one of the conversation.
///
/// ```
/// # #[cfg(all(feature = "agents", feature = "inmem", feature = "anthropic"))]
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use context_runtime::Agents;
/// use context_runtime::compaction::{provider_compact, snip, truncate_head};
///
/// let agents = Agents::open("mem:")
///     .await?
///     .model("claude-opus-5-5")
///     .compaction([provider_compact(), snip(), truncate_head()])
///     .build()?;
/// # Ok(())
/// # }
/// ```
#[cfg(feature = "summarize")]
pub fn provider_compact() -> crate::runtime::Stage {
    crate::runtime::Stage::new(context_policy_summarize::ProviderCompact::new())
}

/// Returns the default stages of [`Agents`](crate::Agents), with or without a model that writes
/// summaries: microcompact, summarize, snip, truncate-head.
///
/// Microcompact runs only from half of the window on and while the provider has nothing of the
/// history in its cache, such as after a pause. With a warm cache it only adds to the cuts of the
/// others, each of which makes the provider read again what its cache had; `docs/quality.md` has
/// the prices.
#[cfg(feature = "agents")]
pub fn default_stages(summaries: bool) -> Vec<crate::runtime::Stage> {
    let cold = microcompact().trigger(crate::runtime::Trigger::CacheCold.and(0.5));
    let mut stages = vec![cold, snip(), truncate_head()];
    if summaries {
        stages.insert(1, summarize());
    }
    stages
}
