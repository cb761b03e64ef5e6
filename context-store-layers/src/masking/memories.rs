//! Memory records.

use std::collections::HashSet;

use context_core::store::{MemoryList, MemoryWrite};
use context_secrets::{MaskReport, SecretFinder};

use super::chats;

pub(super) fn writes(
    finder: &SecretFinder,
    writes: &[MemoryWrite],
    report: &mut MaskReport,
) -> Vec<MemoryWrite> {
    writes.iter().map(|write| masked(finder, write, report)).collect()
}

/// Returns a listing that compares with masked keys.
pub(super) fn list(finder: &SecretFinder, list: &MemoryList) -> MemoryList {
    let mut list = list.clone();
    list.key = list.key.map(|key| chats::text(finder, key, &mut MaskReport::default()));
    list
}

fn masked(finder: &SecretFinder, write: &MemoryWrite, report: &mut MaskReport) -> MemoryWrite {
    let mut write = write.clone();
    let mut found = MaskReport::default();
    let original = write.record.clone();
    let record = &mut write.record;
    let texts = [Some(&mut record.text), record.key.as_mut(), record.speaker.as_mut()];
    for text in texts.into_iter().flatten() {
        if let Some(masked) = finder.mask_text(text, &mut found) {
            *text = masked;
        }
    }
    record.data = chats::metadata(finder, record.data.clone(), &mut found);
    if !found.is_empty() {
        let removed = secrets(finder, &original.text);
        write.words = words(finder, &write, &removed);
    }
    report.merge(&found);
    write
}

/// Returns the secrets of a text in lower case, as words are.
fn secrets(finder: &SecretFinder, text: &str) -> String {
    let hits = finder.find(text);
    let secrets = hits.into_iter().map(|hit| text[hit.range].to_lowercase());
    secrets.collect::<Vec<_>>().join("\n")
}

/// Returns the words of a record without those that come from its secrets.
fn words(finder: &SecretFinder, write: &MemoryWrite, removed: &str) -> String {
    let shown = write.record.text.to_lowercase();
    let shown: HashSet<&str> =
        shown.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let stays = |word: &&str| {
        let lower = word.to_lowercase();
        (shown.contains(lower.as_str()) || !removed.contains(&lower))
            && finder.find(word).is_empty()
    };
    write.words().filter(stays).collect::<Vec<_>>().join(" ")
}
