//! What fits into a recall.

use context_core::{Diagnostic, DiagnosticCode, Recalled, RecalledMemory, Severity};

/// What stands around each memory in the prompt, in bytes: its source and its time.
const AROUND: usize = 80;
/// How many bytes a token has, about. Whoever puts memories into a prompt counts exactly.
const BYTES_OF_A_TOKEN: usize = 4;

/// The first memories that fit, each whole. What is left out is told, by its number alone.
pub(crate) fn fit(memories: Vec<RecalledMemory>, max_tokens: Option<u64>, path: &str) -> Recalled {
    let Some(most) = max_tokens else { return Recalled::new(memories) };
    let (asked, mut used) = (memories.len(), 0_u64);
    let kept: Vec<_> = memories
        .into_iter()
        .filter(|memory| {
            let tokens = (memory.text.len() + AROUND).div_ceil(BYTES_OF_A_TOKEN) as u64;
            let fits = used.saturating_add(tokens) <= most;
            used += if fits { tokens } else { 0 };
            fits
        })
        .collect();
    let left = asked - kept.len();
    let mut recalled = Recalled::new(kept);
    if left > 0 {
        let said = format!("{left} of {asked} memories do not fit {most} tokens");
        let told = Diagnostic::new(DiagnosticCode::OverLimit, Severity::Info, path, said);
        recalled.diagnostics.push(told);
    }
    recalled
}
