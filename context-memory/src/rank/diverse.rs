//! Removing near-duplicates.

use std::collections::HashSet;

use super::score::Candidate;
use crate::words;

/// The share of common words from which on two memories count as duplicates.
const SAME: f64 = 0.85;

/// Returns the first `most` candidates without duplicates. Of duplicates the first one stays.
pub(crate) fn distinct(candidates: Vec<Candidate>, most: usize) -> Vec<Candidate> {
    let mut kept: Vec<(Candidate, HashSet<String>)> = Vec::new();
    for candidate in candidates {
        if kept.len() == most {
            break;
        }
        let content: HashSet<String> = words::content_words(candidate.text()).collect();
        if !kept.iter().any(|(_, other)| overlap(&content, other) >= SAME) {
            kept.push((candidate, content));
        }
    }
    kept.into_iter().map(|(candidate, _)| candidate).collect()
}

/// Returns the Jaccard similarity of two sets of words.
fn overlap(a: &HashSet<String>, b: &HashSet<String>) -> f64 {
    let common = a.intersection(b).count();
    let all = a.len() + b.len() - common;
    if all == 0 { 1.0 } else { common as f64 / all as f64 }
}
