//! Token usage of an answer, as the provider reports it.

use context_core::model::Usage;
use serde::Deserialize;

/// The provider's token counts.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UsageForm {
    prompt_token_count: Option<u64>,
    cached_content_token_count: Option<u64>,
    /// Spoken answers use another name.
    #[serde(alias = "responseTokenCount")]
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
    tool_use_prompt_token_count: Option<u64>,
}

impl UsageForm {
    /// Replaces the counts: later events repeat them, with more tokens.
    pub(super) fn update(&mut self, later: Self) {
        let newer = |before: &mut Option<u64>, later: Option<u64>| *before = later.or(*before);
        newer(&mut self.prompt_token_count, later.prompt_token_count);
        newer(&mut self.cached_content_token_count, later.cached_content_token_count);
        newer(&mut self.candidates_token_count, later.candidates_token_count);
        newer(&mut self.thoughts_token_count, later.thoughts_token_count);
        newer(&mut self.tool_use_prompt_token_count, later.tool_use_prompt_token_count);
    }

    /// Adds the counts of one part of an answer that has several.
    pub(super) fn add(&mut self, later: &Self) {
        let sum = |before: &mut Option<u64>, later: Option<u64>| {
            *before =
                later.map(|later| before.unwrap_or_default().saturating_add(later)).or(*before);
        };
        sum(&mut self.prompt_token_count, later.prompt_token_count);
        sum(&mut self.cached_content_token_count, later.cached_content_token_count);
        sum(&mut self.candidates_token_count, later.candidates_token_count);
        sum(&mut self.thoughts_token_count, later.thoughts_token_count);
        sum(&mut self.tool_use_prompt_token_count, later.tool_use_prompt_token_count);
    }

    pub(super) fn usage(&self) -> Usage {
        let of = |count: Option<u64>| count.unwrap_or_default();
        let cached = of(self.cached_content_token_count);
        let mut usage = Usage::default();
        usage.input = of(self.prompt_token_count)
            .saturating_sub(cached)
            .saturating_add(of(self.tool_use_prompt_token_count));
        usage.output =
            of(self.candidates_token_count).saturating_add(of(self.thoughts_token_count));
        usage.cache_read = cached;
        usage.reasoning = self.thoughts_token_count;
        usage
    }
}
