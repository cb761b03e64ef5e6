//! Ranges removed from a text. The recorded offsets count UTF-16 units, ours characters.

use std::ops::Range;

use context_instructions::strip_ranges;
use context_runtime::{FragmentData, Number};

use crate::encoding::{items, text};
use crate::judge::{Difference, Outcome};

pub(super) fn judge(row: &FragmentData) -> Outcome {
    let (input, expected) =
        (text(row, "text").unwrap_or_default(), text(row, "result").unwrap_or_default());
    let Some(ranges) =
        items(row, "ranges").iter().map(|range| read(input, range)).collect::<Option<Vec<_>>>()
    else {
        return Outcome::Skipped("no row of ranges".to_owned());
    };
    let ours = strip_ranges(input, &ranges);
    Outcome::of(if ours == expected {
        Ok("equal".to_owned())
    } else {
        Err(Difference::new("equal", format!("{expected:?}"), format!("{ours:?}")))
    })
}

/// Reads a range in characters. Negative offsets are clamped to the start, which our offsets cannot
/// precede.
fn read(input: &str, range: &FragmentData) -> Option<Range<usize>> {
    let FragmentData::List(ends) = range else { return None };
    let [FragmentData::Number(Number::Int(start)), FragmentData::Number(Number::Int(end))] =
        ends.as_slice()
    else {
        return None;
    };
    let characters = |offset: i64| {
        let offset = usize::try_from(offset.max(0)).unwrap_or(usize::MAX);
        let mut units = 0;
        let within = |c: &char| {
            units += c.len_utf16();
            units <= offset
        };
        let count = input.chars().take_while(within).count();
        count + offset.saturating_sub(input.encode_utf16().count())
    };
    Some(characters(*start)..characters(*end))
}
