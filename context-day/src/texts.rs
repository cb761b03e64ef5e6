//! The words of users, models and tools.

use context_simulator::Random;

use crate::marker::DayMarker;

const WORDS: [&str; 24] = [
    "train", "ticket", "Lisbon", "harbour", "Friday", "window", "seat", "museum", "coffee",
    "garden", "letter", "number", "morning", "weather", "river", "bridge", "music", "paper",
    "winter", "summer", "yellow", "kitchen", "island", "station",
];

/// Returns a text of about this many words that begins with its marker. The same marker has the
/// same words.
pub(crate) fn text(marker: DayMarker, words: usize) -> String {
    let mut random = Random::new(marker.number ^ ((marker.user as u64) << 40));
    let mut text = marker.to_string();
    for at in 0..words {
        text.push(if at % 12 == 11 { '\n' } else { ' ' });
        text.push_str(WORDS[random.below(WORDS.len())]);
    }
    text
}
