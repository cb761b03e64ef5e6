//! The tree traversal: fragments, lists and maps become a block outline, and very deep ones a
//! single line.

use context_core::fragment::RenderError;
use context_core::{Fragment, FragmentData};

use crate::scalar;

/// The number of indented levels. Deeper data is written on one line, in braces and brackets.
/// Otherwise the indentation of a deep tree would grow with the square of its depth.
const LEVELS: usize = 32;

/// A pending step. A stack of steps replaces recursion.
enum Step<'a> {
    /// This text.
    Text(&'static str),
    /// A new line at this level.
    Line(usize),
    /// A key that begins at this level.
    Key(&'a str, usize),
    /// The value after a key or a dash. Its contents are at this level.
    Value { name: &'a str, data: &'a FragmentData, untrusted: bool, level: usize },
}

/// Appends a fragment as an item of a list.
pub(crate) fn write(fragment: &Fragment, out: &mut String) -> Result<(), RenderError> {
    let mut steps = Vec::new();
    item(fragment, 0, &mut steps)?;
    steps.reverse();
    while let Some(step) = steps.pop() {
        let children = steps.len();
        match step {
            Step::Text(text) => out.push_str(text),
            Step::Line(level) => scalar::line(level, out),
            Step::Key(key, level) => scalar::key(key, (level <= LEVELS).then_some(level), out),
            Step::Value { name, data, untrusted, level } => {
                if untrusted {
                    out.push_str(" !untrusted");
                }
                let block = level <= LEVELS;
                match data {
                    FragmentData::Null => out.push_str(" null"),
                    FragmentData::Bool(value) => {
                        out.push_str(if *value { " true" } else { " false" })
                    }
                    FragmentData::Number(number) => scalar::number(*number, out),
                    FragmentData::Text(text) => scalar::text(text, block.then_some(level), out),
                    FragmentData::List(list) if block && !list.as_slice().is_empty() => {
                        for data in list {
                            steps.push(Step::Line(level));
                            match data {
                                FragmentData::Fragment(fragment) => {
                                    item(fragment, level, &mut steps)?
                                }
                                data => {
                                    steps.push(Step::Text("-"));
                                    steps.push(Step::Value {
                                        name,
                                        data,
                                        untrusted: false,
                                        level: level + 1,
                                    });
                                }
                            }
                        }
                    }
                    FragmentData::List(list) => {
                        steps.push(Step::Text(" ["));
                        for (place, data) in list.iter().enumerate() {
                            steps.push(Step::Text(if place > 0 { "," } else { "" }));
                            steps.push(Step::Value {
                                name,
                                data,
                                untrusted: false,
                                level: level + 1,
                            });
                        }
                        steps.push(Step::Text("]"));
                    }
                    FragmentData::Map(map) => {
                        let entries = map.iter().map(|(key, data)| (key.as_str(), data));
                        entry_list(entries, level, &mut steps)?;
                    }
                    // A fragment as a value is a map with one entry.
                    FragmentData::Fragment(fragment) => {
                        entry_list(std::iter::once((fragment.name(), data)), level, &mut steps)?;
                    }
                    FragmentData::Lazy(_) => {
                        return Err(RenderError::NotLoaded { name: name.to_owned() });
                    }
                    // A kind of data that is newer than this renderer: an error is better than lost
                    // data.
                    _ => return Err(RenderError::NotData { name: name.to_owned() }),
                }
            }
        }
        steps[children..].reverse();
    }
    Ok(())
}

/// Adds a fragment as an item of a block list: `- name: value`.
fn item<'a>(
    fragment: &'a Fragment,
    level: usize,
    steps: &mut Vec<Step<'a>>,
) -> Result<(), RenderError> {
    steps.push(Step::Text("- "));
    // The key comes after the dash, one level deeper. Its value is another level deeper.
    entry(fragment.name(), fragment, level + 1, steps)
}

/// Adds a fragment after its name.
fn entry<'a>(
    key: &'a str,
    fragment: &'a Fragment,
    level: usize,
    steps: &mut Vec<Step<'a>>,
) -> Result<(), RenderError> {
    let name = fragment.name();
    let data = fragment.data().ok_or_else(|| RenderError::NotData { name: name.to_owned() })?;
    steps.push(Step::Key(key, level));
    steps.push(Step::Value { name, data, untrusted: fragment.is_untrusted(), level: level + 1 });
    Ok(())
}

/// Adds the entries of a map, one per line or all on one line. An entry whose fragment has the same
/// name is written as that fragment.
fn entry_list<'a>(
    entries: impl ExactSizeIterator<Item = (&'a str, &'a FragmentData)>,
    level: usize,
    steps: &mut Vec<Step<'a>>,
) -> Result<(), RenderError> {
    let block = level <= LEVELS && entries.len() > 0;
    if !block {
        steps.push(Step::Text(" {"));
    }
    for (place, (key, data)) in entries.enumerate() {
        match (block, place) {
            (true, _) => steps.push(Step::Line(level)),
            (false, 0) => {}
            (false, _) => steps.push(Step::Text(", ")),
        }
        match data {
            FragmentData::Fragment(fragment) if fragment.name() == key => {
                entry(key, fragment, level, steps)?
            }
            data => {
                steps.push(Step::Key(key, level));
                steps.push(Step::Value { name: key, data, untrusted: false, level: level + 1 });
            }
        }
    }
    if !block {
        steps.push(Step::Text("}"));
    }
    Ok(())
}
