//! Removal of reminders from messages.

use std::collections::BTreeMap;
use std::ops::Range;

use context_core::{Message, Part};

use super::element::{Mark, REMINDERS, is_element, marks};

/// Returns the text without these ranges, which count Unicode scalar values. Ranges may overlap and
/// come in any order. The part of a range after the end of the text is ignored, and so is a range
/// that ends before it starts. If something was removed, trailing white space is removed too.
pub fn strip_ranges(text: &str, ranges: &[Range<usize>]) -> String {
    let mut remaining = remove_ranges(text, in_bytes(text, ranges));
    if remaining.len() < text.len() {
        remaining.truncate(remaining.trim_end().len());
    }
    remaining
}

/// Returns the message as it was before reminders were folded into it, white space included.
///
/// Parts that held only reminders are removed, and so is the metadata that recorded where reminders
/// stand. A synthetic message of reminders loses its parts and stays marked as synthetic. If the
/// text was changed since and a range no longer holds a reminder, nothing is cut there.
#[must_use]
pub fn strip_reminders(message: &Message) -> Message {
    let mut message = message.clone();
    let Some(marks) = marks(&message) else { return message };
    message.metadata.remove(REMINDERS);
    let mut parts: BTreeMap<usize, BTreeMap<Option<usize>, Vec<Range<usize>>>> = BTreeMap::new();
    for Mark { part, output, start, end, .. } in marks {
        parts.entry(part).or_default().entry(output).or_default().push(start..end);
    }
    // From the end, so that the removal of a part does not move parts that are still to come.
    for (part, outputs) in parts.into_iter().rev() {
        for (output, ranges) in outputs.into_iter().rev() {
            match (output, message.parts.get_mut(part)) {
                (None, Some(_)) => strip_part(&mut message.parts, part, &ranges),
                (Some(output), Some(Part::ToolResult(result))) => {
                    strip_part(&mut result.output, output, &ranges);
                }
                _ => {}
            }
        }
    }
    message
}

fn strip_part(parts: &mut Vec<Part>, index: usize, ranges: &[Range<usize>]) {
    let Some(Part::Text(part)) = parts.get_mut(index) else { return };
    let mut elements = in_bytes(&part.text, ranges);
    elements.retain(|range| is_element(&part.text[range.clone()]));
    let cut = remove_ranges(&part.text, elements);
    if cut.is_empty() && !part.text.is_empty() {
        parts.remove(index);
    } else {
        part.text = cut.into();
    }
}

/// Returns the ranges in bytes, in the order given, none beyond the end and none inverted.
fn in_bytes(text: &str, ranges: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut offsets: Vec<usize> =
        ranges.iter().flat_map(|range| [range.start, range.end]).collect();
    offsets.sort_unstable();
    offsets.dedup();
    let mut bytes = text.char_indices().map(|(at, _)| at).enumerate().peekable();
    let byte_offsets: Vec<usize> = offsets
        .iter()
        .map(|offset| {
            while bytes.next_if(|(at, _)| at < offset).is_some() {}
            bytes.peek().map_or(text.len(), |(_, byte)| *byte)
        })
        .collect();
    let byte_offset =
        |offset| offsets.binary_search(offset).map_or(text.len(), |at| byte_offsets[at]);
    ranges
        .iter()
        .map(|range| {
            let start = byte_offset(&range.start);
            start..byte_offset(&range.end).max(start)
        })
        .collect()
}

/// Returns the text without these ranges of bytes.
fn remove_ranges(text: &str, mut ranges: Vec<Range<usize>>) -> String {
    ranges.sort_unstable_by_key(|range| range.start);
    let (mut remaining, mut at) = (String::with_capacity(text.len()), 0);
    for range in ranges {
        if range.start > at {
            remaining.push_str(&text[at..range.start]);
        }
        at = at.max(range.end);
    }
    remaining.push_str(&text[at..]);
    remaining
}
