//! What a memory costs in a prompt, roughly: who shows it to a model counts it exactly.

use context_core::memory::RecalledMemory;

/// What stands around the text of a memory, in tokens: its source, its time, its speaker.
const FRAME: u64 = 40;

/// How many tokens a memory has, about.
pub(crate) fn tokens(memory: &RecalledMemory) -> u64 {
    let ascii = memory.text.bytes().filter(u8::is_ascii).count() as u64;
    let others = memory.text.chars().filter(|c| !c.is_ascii()).count() as u64;
    ascii.div_ceil(4) + others + FRAME
}

/// Leaves out what does not fit into so many tokens beside what comes before it, and says how many
/// the rest has.
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
