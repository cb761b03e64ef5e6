//! Why a block is not changed, in words that a model can act on.

use context_core::base::shown::shown;
use context_core::{Error, ErrorKind};

/// Why a block cannot be read or changed. Nothing was written. The words are for a model: they say
/// what would be right.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum BlockError {
    /// The name is none of a block.
    #[error("the name of a block has 1 to {longest} letters, digits, `-`, `_` and `.`")]
    BadName {
        /// The longest name, in characters.
        longest: usize,
    },
    /// Only declared blocks may be written, and this is none.
    #[error(
        "there is no block `{}` and no other may be made; there are: {}",
        shown(.name), shown(.declared)
    )]
    NotDeclared {
        /// The name.
        name: String,
        /// The names of those that are declared.
        declared: String,
    },
    /// There is none of this name.
    #[error("there is no block `{}`", shown(.name))]
    Unknown {
        /// The name.
        name: String,
    },
    /// There is one of this name already.
    #[error("there is a block `{}` already, at version {version}", shown(.name))]
    Exists {
        /// The name.
        name: String,
        /// How often it was written.
        version: u64,
    },
    /// That version is not kept, or there never was one.
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
        /// The limit, in characters.
        limit: usize,
        /// How many it would have.
        chars: usize,
    },
    /// There are too many blocks.
    #[error("there may be at most {limit} blocks: write into one that is there, or delete one")]
    TooMany {
        /// How many there may be.
        limit: usize,
    },
    /// There are too many deleted blocks whose history is kept.
    #[error(
        "the history of {limit} blocks is kept: one has to be forgotten before another is made"
    )]
    TooManyDeleted {
        /// How many there may be, deleted blocks and others together.
        limit: usize,
    },
    /// The text that is to be replaced is empty.
    #[error("the text to replace is empty: say which text")]
    NothingToReplace,
    /// There is nothing to insert.
    #[error("the text to insert is empty")]
    NothingToInsert,
    /// The text that is to be replaced is not there.
    #[error(
        "the text does not stand in block `{}`: view it and give the text exactly as it stands there",
        shown(.name)
    )]
    NoSuchText {
        /// The name.
        name: String,
    },
    /// The text that is to be replaced is there more than once.
    #[error(
        "the text stands {times} times in block `{}`: give more of what is around it",
        shown(.name)
    )]
    Ambiguous {
        /// The name.
        name: String,
        /// How often.
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
        /// How many it has.
        lines: usize,
    },
    /// The block is not what the edit was made for.
    #[error(
        "block `{}` was changed meanwhile and is at version {version}: view it again, then decide",
        shown(.name)
    )]
    Changed {
        /// The name.
        name: String,
        /// How often it was written.
        version: u64,
    },
    /// The store failed, or the scope is bad.
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
