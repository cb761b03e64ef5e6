//! The baseline: BM25 over whole turns, with stop words and light stemming, and nothing else.

use std::collections::HashMap;

use crate::dialogue::Turn;

const K1: f64 = 1.2;
const B: f64 = 0.75;

const STOP: &str = "a about after all am an and any are as at be because been before being but by can could did do does doing for from \
    had has have having he her hers him his how i if in into is it its just me my myself no nor not of on or our out s she should so \
    some such t than that the their them then there these they this those to too us was we were what when where which while who whom \
    why will with would you your";

/// The turns of a dialogue, indexed.
pub(crate) struct Baseline {
    turns: Vec<HashMap<String, usize>>,
    lengths: Vec<usize>,
    found: HashMap<String, usize>,
    average: f64,
}

impl Baseline {
    pub(crate) fn new(turns: &[Turn]) -> Self {
        let mut found: HashMap<String, usize> = HashMap::new();
        let mut counted = Vec::new();
        for turn in turns {
            let mut counts: HashMap<String, usize> = HashMap::new();
            let said = match &turn.speaker {
                Some(speaker) => format!("{speaker}: {}", turn.text),
                None => turn.text.clone(),
            };
            words(&said).for_each(|word| *counts.entry(word).or_default() += 1);
            counts.keys().for_each(|word| *found.entry(word.clone()).or_default() += 1);
            counted.push(counts);
        }
        let lengths: Vec<usize> = counted.iter().map(|counts| counts.values().sum()).collect();
        let average = lengths.iter().sum::<usize>() as f64 / lengths.len().max(1) as f64;
        Self { turns: counted, lengths, found, average }
    }

    /// Returns the positions of the best turns, best first.
    pub(crate) fn best(&self, question: &str, most: usize) -> Vec<usize> {
        let texts = self.turns.len() as f64;
        let mut scores = vec![0.0; self.turns.len()];
        let mut asked: Vec<String> = words(question).collect();
        asked.sort();
        asked.dedup();
        for word in &asked {
            let found = self.found.get(word).copied().unwrap_or_default() as f64;
            let rarity = (1.0 + (texts - found + 0.5) / (found + 0.5)).ln();
            for (at, counts) in self.turns.iter().enumerate() {
                let count = counts.get(word).copied().unwrap_or_default() as f64;
                let length = 1.0 - B + B * self.lengths[at] as f64 / self.average;
                scores[at] += rarity * count * (K1 + 1.0) / (count + K1 * length);
            }
        }
        let mut order: Vec<usize> = (0..scores.len()).filter(|at| scores[*at] > 0.0).collect();
        order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
        order.truncate(most);
        order
    }
}

fn words(text: &str) -> impl Iterator<Item = String> {
    let folded = text.to_lowercase();
    let words: Vec<String> = folded
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect();
    words
        .into_iter()
        .filter(|word| !STOP.split_whitespace().any(|stop| stop == word))
        .map(|word| stem(&word))
}

/// Removes plural endings, `-ed` and `-ing`.
fn stem(word: &str) -> String {
    if word.len() > 4 {
        for (end, instead) in [("ies", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", "")] {
            if let Some(rest) = word.strip_suffix(end)
                && rest.len() >= 3
                && !(end == "s" && rest.ends_with('s'))
            {
                return format!("{rest}{instead}");
            }
        }
    }
    word.to_owned()
}
