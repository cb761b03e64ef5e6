//! Errors of block edits, worded so that a model can act on them.

use context_core::base::display::shown;
use context_core::{Error, ErrorKind};

/// The reason why a block cannot be read or changed. Nothing was written. The messages are for a
/// model and tell how to correct the call.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum BlockError {
    /// The name is not a valid block name.
    #[error("the name of a block has 1 to {longest} letters, digits, `-`, `_` and `.`")]
    BadName {
        /// The longest name, in characters.
        longest: usize,
    },
    /// Only declared blocks may be written, and this one is not declared.
    #[error(
        "there is no block `{}`, and no other may be created; existing blocks: {}",
        shown(.name), shown(.declared)
    )]
    NotDeclared {
        /// The name.
        name: String,
        /// The names of the declared blocks.
        declared: String,
    },
    /// There is no block of this name.
    #[error("there is no block `{}`", shown(.name))]
    Unknown {
        /// The name.
        name: String,
    },
    /// The block is in quarantine. Tools of a model neither show nor change it.
    #[error("block `{}` is in quarantine: a person has to release it first", shown(.name))]
    Quarantined {
        /// The name.
        name: String,
    },
    /// A block of this name already exists.
    #[error("there is a block `{}` already, at version {version}", shown(.name))]
    Exists {
        /// The name.
        name: String,
        /// The current version.
        version: u64,
    },
    /// The version was never written or is not kept any more.
    #[error("version {version} of block `{}` is not kept", shown(.name))]
    NoSuchVersion {
        /// The name.
        name: String,
        /// The version.
        version: u64,
    },
    /// The block would be too long.
    #[error(
        "block `{}` may have at most {limit} characters, this would be {chars}: shorten it or replace something",
        shown(.name)
    )]
    TooLong {
        /// The name.
        name: String,
        /// The limit in characters.
        limit: usize,
        /// The length it would have, in characters.
        chars: usize,
    },
    /// There are too many blocks.
    #[error("there may be at most {limit} blocks: write into one that is there, or delete one")]
    TooMany {
        /// The limit.
        limit: usize,
    },
    /// There are too many deleted blocks whose history is kept.
    #[error(
        "the history of {limit} blocks is kept: one has to be forgotten before another is made"
    )]
    TooManyDeleted {
        /// The limit for all blocks, including deleted ones.
        limit: usize,
    },
    /// The text to replace is empty.
    #[error("the text to replace is empty: say which text")]
    NothingToReplace,
    /// The text to insert is empty.
    #[error("the text to insert is empty")]
    NothingToInsert,
    /// The text to replace does not occur.
    #[error(
        "the text does not stand in block `{}`: view it and give the text exactly as it stands there",
        shown(.name)
    )]
    NoSuchText {
        /// The name.
        name: String,
    },
    /// The text to replace occurs more than once.
    #[error(
        "the text stands {times} times in block `{}`: give more of what is around it",
        shown(.name)
    )]
    Ambiguous {
        /// The name.
        name: String,
        /// The number of occurrences.
        times: usize,
    },
    /// There is no such line.
    #[error(
        "block `{}` has {lines} lines: insert after one of them, or after line 0 for the beginning",
        shown(.name)
    )]
    NoSuchLine {
        /// The name.
        name: String,
        /// The number of lines.
        lines: usize,
    },
    /// The block was changed after the version that the edit was made for.
    #[error(
        "block `{}` was changed meanwhile and is at version {version}: view it again, then decide",
        shown(.name)
    )]
    Changed {
        /// The name.
        name: String,
        /// The current version.
        version: u64,
    },
    /// The store failed, or the scope is invalid.
    #[error("the blocks cannot be reached")]
    Store(#[from] Error),
}

context_core::readable_debug!(BlockError);

impl From<BlockError> for Error {
    fn from(error: BlockError) -> Self {
        let kind = match error {
            BlockError::Store(error) => return error,
            BlockError::Unknown { .. } | BlockError::NoSuchVersion { .. } => ErrorKind::NotFound,
            BlockError::Changed { .. } | BlockError::Exists { .. } => ErrorKind::Conflict,
            _ => ErrorKind::Invalid,
        };
        Self::new(kind, "blocks", error.to_string())
    }
}
