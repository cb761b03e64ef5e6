//! Edits of a block.

use std::fmt;

use context_core::memory::{StoredMemory, Trust};

use super::BlockError;

/// An edit of a block. `Debug` does not show texts.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BlockEdit {
    /// Creates a block that does not exist or was deleted.
    Create {
        /// The text.
        text: String,
    },
    /// Inserts lines. Creates the block if it does not exist.
    Insert {
        /// The position.
        place: InsertPosition,
        /// The lines.
        text: String,
    },
    /// Replaces a text that occurs exactly once.
    Replace {
        /// The text to replace.
        old: String,
        /// The replacement. May be empty.
        new: String,
    },
    /// Replaces the whole text. Creates the block if it does not exist.
    Rewrite {
        /// The new text.
        text: String,
    },
    /// Deletes the block. Its history stays until the block is forgotten.
    Delete,
}

/// The position of an insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum InsertPosition {
    /// Before the first line.
    Start,
    /// After the last line.
    End,
    /// After this line, counted from 1. 0 is the start.
    Line(usize),
}

impl BlockEdit {
    /// Returns whether the edit means the same on a text that was changed meanwhile. Applying it
    /// tells whether it is still possible.
    pub(super) fn commutes(&self) -> bool {
        match self {
            Self::Create { .. } | Self::Replace { .. } => true,
            Self::Insert { place, .. } => {
                matches!(place, InsertPosition::Start | InsertPosition::End)
            }
            Self::Rewrite { .. } | Self::Delete => false,
        }
    }

    /// Returns the class of the text after the edit: the lower one, if a part of the earlier text
    /// stays. `now` is the earlier text, if there is one.
    pub(super) fn trust(
        &self,
        writer: Trust,
        now: Option<&str>,
        before: Option<&StoredMemory>,
    ) -> Option<Trust> {
        let keeps = matches!(self, Self::Insert { .. } | Self::Replace { .. });
        match before.filter(|_| keeps && now.is_some_and(|now| !now.is_empty())) {
            Some(before) => before.record.trust().map(|trust| trust.min(writer)),
            None => Some(writer),
        }
    }

    /// Returns the text after the edit, or `None` if the block is deleted. `now` is the current
    /// text, or `None` if there is no block.
    pub(super) fn apply(
        &self,
        name: &str,
        version: u64,
        now: Option<&str>,
    ) -> Result<Option<String>, BlockError> {
        let there = || now.ok_or_else(|| BlockError::Unknown { name: name.to_owned() });
        match self {
            Self::Create { text } => match now {
                Some(_) => Err(BlockError::Exists { name: name.to_owned(), version }),
                None => Ok(Some(text.clone())),
            },
            Self::Rewrite { text } => Ok(Some(text.clone())),
            Self::Delete => there().map(|_| None),
            Self::Insert { place, text } => {
                inserted(name, now.unwrap_or_default(), *place, text).map(Some)
            }
            Self::Replace { old, new } => {
                let now = there()?;
                let name = || name.to_owned();
                if old.is_empty() {
                    return Err(BlockError::NothingToReplace);
                }
                // Occurrences may overlap: `aa` occurs twice in `aaa`, which is ambiguous too.
                let mut places =
                    now.char_indices().filter(|(at, _)| now[*at..].starts_with(old.as_str()));
                let Some((at, _)) = places.next() else {
                    return Err(BlockError::NoSuchText { name: name() });
                };
                match places.count() {
                    0 => Ok(Some([&now[..at], new, &now[at + old.len()..]].concat())),
                    more => Err(BlockError::Ambiguous { name: name(), times: more + 1 }),
                }
            }
        }
    }
}

fn inserted(
    name: &str,
    now: &str,
    place: InsertPosition,
    text: &str,
) -> Result<String, BlockError> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    if text.is_empty() {
        return Err(BlockError::NothingToInsert);
    }
    let body = now.strip_suffix('\n').unwrap_or(now);
    let mut lines: Vec<&str> =
        if body.is_empty() { Vec::new() } else { body.split('\n').collect() };
    let at = match place {
        InsertPosition::Start => 0,
        InsertPosition::End => lines.len(),
        InsertPosition::Line(line) => line,
    };
    if at > lines.len() {
        return Err(BlockError::NoSuchLine { name: name.to_owned(), lines: lines.len() });
    }
    lines.insert(at, text);
    Ok(lines.join("\n"))
}

impl fmt::Debug for BlockEdit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Create { .. } => "Create",
            Self::Insert { .. } => "Insert",
            Self::Replace { .. } => "Replace",
            Self::Rewrite { .. } => "Rewrite",
            Self::Delete => "Delete",
        })
    }
}
