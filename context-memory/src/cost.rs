//! What a memory costs in a prompt, roughly: who shows it to a model counts it exactly.

use context_core::RecalledMemory;

/// What stands around the text of a memory, in tokens: its source, its time, its speaker.
const FRAME: u64 = 40;

/// How many tokens a memory has, about.
pub(crate) fn tokens(memory: &RecalledMemory) -> u64 {
    let ascii = memory.text.bytes().filter(u8::is_ascii).count() as u64;
    let others = memory.text.chars().filter(|c| !c.is_ascii()).count() as u64;
    ascii.div_ceil(4) + others + FRAME
}

/// As many memories from the front as have so many tokens; of several the first even if it alone has more.
pub(crate) fn fit(memories: &mut Vec<RecalledMemory>, most: Option<u64>) -> u64 {
    let most = most.unwrap_or(u64::MAX);
    let mut spent = 0;
    let mut kept = 0;
    for memory in memories.iter() {
        let cost = tokens(memory);
        if kept > 0 && spent + cost > most {
            break;
        }
        spent += cost;
        kept += 1;
    }
    memories.truncate(kept);
    spent
}
