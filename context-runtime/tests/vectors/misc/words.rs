//! Words: plural, singular, title case.

use context_render::{plural, singular, title_case};
use context_runtime::FragmentData;

use crate::judge::{Difference, Outcome};

fn columns(row: &FragmentData) -> Vec<&str> {
    match row {
        FragmentData::List(columns) => columns.iter().filter_map(FragmentData::as_text).collect(),
        _ => Vec::new(),
    }
}

/// Judges a row of a word, its plural, its singular and its title. Where the library inflects a
/// word differently from the recording, either is accepted if the library is consistent: its
/// inflected word stays the same when it is inflected the same way again.
pub(super) fn judge_word(row: &FragmentData) -> Outcome {
    let [word, many, one, title] = columns(row)[..] else {
        return Outcome::Skipped("no row of words".to_owned());
    };
    if let Err(difference) = check_title(word, title) {
        return Outcome::Failed(difference);
    }
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

/// Judges a row of a name and its title.
pub(super) fn judge_title(row: &FragmentData) -> Outcome {
    let [name, title] = columns(row)[..] else {
        return Outcome::Skipped("no row of a name and its title".to_owned());
    };
    Outcome::of(check_title(name, title))
}

fn check_title(name: &str, title: &str) -> Result<String, Difference> {
    let ours = title_case(name);
    if ours == title {
        Ok("equal".to_owned())
    } else {
        Err(Difference::new("title case is equal", format!("{title:?}"), format!("{ours:?}")))
    }
}
