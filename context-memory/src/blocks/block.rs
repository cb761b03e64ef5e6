//! A block and its versions.

use std::fmt;

use context_core::Timestamp;
use context_core::base::MemoryId;
use context_core::memory::{MemoryScope, Trust};

/// The current state of a block. `Debug` does not show the text.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Block {
    /// The name.
    pub name: String,
    /// The text of the memory.
    pub text: String,
    /// The scope of the memory.
    pub scope: MemoryScope,
    /// The number of writes. 0 for a declared block that was never written.
    pub version: u64,
    /// The time of the last write, if any.
    pub at: Option<Timestamp>,
    /// The description for the model.
    pub description: Option<String>,
    /// The limit in characters.
    pub max_chars: usize,
    /// Whether the block was deleted. Its text is then empty, and its earlier versions are kept.
    pub is_deleted: bool,
    /// The lowest class of those who wrote the text, if it is known.
    pub trust: Option<Trust>,
}

impl Block {
    /// Returns the id of a block's record within its scope.
    pub fn id(name: &str) -> MemoryId {
        MemoryId::from(format!("block:{name}"))
    }

    /// Returns the length of the text in characters.
    pub fn chars(&self) -> usize {
        self.text.chars().count()
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Block")
            .field("name", &self.name)
            .field("scope", &self.scope)
            .field("version", &self.version)
            .field("at", &self.at)
            .field("is_deleted", &self.is_deleted)
            .field("trust", &self.trust)
            .field("text_bytes", &self.text.len())
            .finish_non_exhaustive()
    }
}

/// A version of a block. `Debug` does not show the text.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockVersion {
    /// The number of the version.
    pub version: u64,
    /// The text.
    pub text: String,
    /// The time of the write.
    pub at: Timestamp,
    /// Whether this write deleted the block.
    pub is_deleted: bool,
}

impl fmt::Debug for BlockVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockVersion")
            .field("version", &self.version)
            .field("at", &self.at)
            .field("is_deleted", &self.is_deleted)
            .field("text_bytes", &self.text.len())
            .finish()
    }
}
