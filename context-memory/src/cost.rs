//! Estimates of the tokens of a memory. The caller that renders memories counts them exactly.

use context_core::memory::RecalledMemory;

/// The tokens for the frame of a memory: source, time, speaker.
const FRAME: u64 = 40;

/// Returns the estimated tokens of a memory.
pub(crate) fn tokens(memory: &RecalledMemory) -> u64 {
    let ascii = memory.text.bytes().filter(u8::is_ascii).count() as u64;
    let others = memory.text.chars().filter(|c| !c.is_ascii()).count() as u64;
    ascii.div_ceil(4) + others + FRAME
}

/// Removes memories that do not fit a token limit together with those before them. Returns the
/// tokens of the rest.
pub(crate) fn fit(memories: &mut Vec<RecalledMemory>, most: Option<u64>) -> u64 {
    let most = most.unwrap_or(u64::MAX);
    let mut spent = 0;
    memories.retain(|memory| {
        let cost = tokens(memory);
        let fits = cost <= most - spent;
        spent += if fits { cost } else { 0 };
        fits
    });
    spent
}
