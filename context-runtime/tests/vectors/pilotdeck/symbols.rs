//! Repetitions, and symbols for texts of the recorded system.

use context_runtime::{
    FragmentData,
    model::{HistoryRules, Unanswered},
};

use crate::encoding::items;

/// Symbols and our texts of the same purpose. The others either stand for any text or belong to the
/// runtime.
const OURS: [(&str, &str); 3] = [
    ("$MISSING_RESULT", Unanswered::TEXT),
    ("$CONTINUATION", HistoryRules::CONTINUATION),
    ("$LEADING_USER", HistoryRules::OPENING),
];

/// The symbol of any text before media that were moved out of their result.
pub(super) const VISUAL_INTRO: &str = "$VISUAL_INTRO";

/// Returns the data with `{"$repeat": [unit, n]}` expanded to a text, and with our texts for
/// symbols.
pub(super) fn expand(data: &FragmentData) -> FragmentData {
    match data {
        FragmentData::Map(map) => match items(data, "$repeat") {
            [FragmentData::Text(unit), count] => {
                let count =
                    super::json(count).as_u64().and_then(|count| usize::try_from(count).ok());
                unit.repeat(count.unwrap_or(1)).into()
            }
            _ => FragmentData::map(
                map.iter().map(|(key, value)| (key.clone(), expand(value))).collect::<Vec<_>>(),
            ),
        },
        FragmentData::List(list) => FragmentData::list(list.iter().map(expand).collect::<Vec<_>>()),
        FragmentData::Text(text) if text.contains('$') => {
            let ours = OURS
                .iter()
                .fold(text.to_string(), |text, (symbol, ours)| text.replace(symbol, ours));
            ours.into()
        }
        plain => plain.clone(),
    }
}
