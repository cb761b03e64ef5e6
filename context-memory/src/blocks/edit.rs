//! What is done to a block.

use std::fmt;

use super::BlockError;

/// What is done to a block. `Debug` does not show texts.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BlockEdit {
    /// Makes one that is not there, or was deleted.
    Create {
        /// What it says.
        text: String,
    },
    /// Puts lines into it. One that is not there is made.
    Insert {
        /// Where.
        place: Place,
        /// The lines.
        text: String,
    },
    /// Puts a text in place of one that stands there exactly once.
    Replace {
        /// What stands there.
        old: String,
        /// What will stand there; may be empty.
        new: String,
    },
    /// Puts a text in place of all it says. One that is not there is made.
    Rewrite {
        /// What it says from now on.
        text: String,
    },
    /// Deletes it; its history stays until it is forgotten.
    Delete,
}

/// Where lines are put.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Place {
    /// Before the first line.
    Start,
    /// Behind the last line.
    End,
    /// Behind this line, counted from 1; 0 is the start.
    Line(usize),
}

impl BlockEdit {
    /// Whether it means the same on a text that somebody else has changed meanwhile. Whether it
    /// still can be made, making it says.
    pub(super) fn commutes(&self) -> bool {
        match self {
            Self::Create { .. } | Self::Replace { .. } => true,
            Self::Insert { place, .. } => matches!(place, Place::Start | Place::End),
            Self::Rewrite { .. } | Self::Delete => false,
        }
    }

    /// What a block says after it; nothing if it is deleted. `now` is what it says, nothing if it
    /// is not there.
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
                // Places may overlap: `aa` stands twice in `aaa`, and which one is meant is not
                // clear either.
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

fn inserted(name: &str, now: &str, place: Place, text: &str) -> Result<String, BlockError> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    if text.is_empty() {
        return Err(BlockError::NothingToInsert);
    }
    let body = now.strip_suffix('\n').unwrap_or(now);
    let mut lines: Vec<&str> =
        if body.is_empty() { Vec::new() } else { body.split('\n').collect() };
    let at = match place {
        Place::Start => 0,
        Place::End => lines.len(),
        Place::Line(line) => line,
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
