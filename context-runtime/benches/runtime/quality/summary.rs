//! The model that answers every request for a summary, whoever asks.
//!
//! It quotes from what it is shown by one rule, so that no set of policies gets better summaries
//! than another: the [values](super::values) of the request's messages, each once with up to four
//! words in front of it, those that are shown most often first and the newest first among equals,
//! until [`budget`] is used up. It stands under the headings that `summarize` asks for.

use std::collections::HashMap;

use context_runtime::model::ModelRequest;
use context_runtime::tokens::TokenCounter;

use super::values::{cue, texts, values};

/// Returns the tokens of a summary for a window: a sixteenth, and at most 2,000.
pub(crate) fn budget(window: u64) -> u64 {
    (window / 16).min(2_000)
}

/// Returns the summary of what a request shows.
pub(crate) fn summary(request: &ModelRequest, tokens: u64, counter: &dyn TokenCounter) -> String {
    struct Quoted {
        cue: String,
        count: usize,
        last: usize,
    }
    let mut quoted: HashMap<String, Quoted> = HashMap::new();
    let mut position = 0;
    for text in request.messages.iter().flat_map(|message| texts(message)) {
        for (start, value) in values(&text) {
            position += 1;
            match quoted.get_mut(value) {
                Some(known) => (known.count, known.last) = (known.count + 1, position),
                None => {
                    let cue = cue(&text, start, 4);
                    quoted.insert(value.to_owned(), Quoted { cue, count: 1, last: position });
                }
            }
        }
    }
    let mut quoted: Vec<_> = quoted.into_iter().collect();
    quoted.sort_by_key(|(_, quoted)| std::cmp::Reverse((quoted.count, quoted.last)));
    let mut text = "## Objective\nAs found below.\n## Current state\nIn progress.\n\
         ## Remaining\nNone\n## Files and artifacts\nNone\n## Findings\n"
        .to_owned();
    let mut room = tokens.saturating_sub(counter.count(&text).tokens());
    for (value, Quoted { cue, .. }) in quoted {
        let line = format!("- {cue} {value}\n");
        let Some(left) = room.checked_sub(counter.count(&line).tokens()) else { break };
        room = left;
        text.push_str(&line);
    }
    text
}
