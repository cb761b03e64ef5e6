//! Words: plural, singular, title case.

use context_render::{plural, singular};
use context_runtime::FragmentData;

use crate::judge::{Difference, Outcome};

fn columns(row: &FragmentData) -> Vec<&str> {
    match row {
        FragmentData::List(columns) => columns.iter().filter_map(FragmentData::as_text).collect(),
        _ => Vec::new(),
    }
}

/// A row is the word, its plural, its singular and its title. Where the library inflects a word otherwise than
/// was recorded, either will do, as long as the library is at one with itself: its word stays what it is when
/// it is inflected the same way again.
pub(super) fn judge_word(row: &FragmentData) -> Outcome {
    let [word, many, one, ..] = columns(row)[..] else {
        return Outcome::Skipped("no row of words".to_owned());
    };
    let (our_many, our_one) = (plural(word), singular(word));
    if (&*our_many, &*our_one) == (many, one) {
        return Outcome::Passed("equal".to_owned());
    }
    let ours = format!("{our_many}, {our_one}");
    let stable = plural(&our_many) == our_many && singular(&our_one) == our_one;
    Outcome::of(if stable {
        Ok(format!("the library's word: {ours}, not {many}, {one}"))
    } else {
        Err(Difference::new("inflected twice as once", format!("{many}, {one}"), ours))
    })
}
