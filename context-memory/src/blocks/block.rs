//! A block and its versions.

use std::fmt;

use context_core::Timestamp;
use context_core::base::MemoryId;
use context_core::memory::MemoryScope;

/// A block as it is. `Debug` does not show what it says.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Block {
    /// The name.
    pub name: String,
    /// The text of the memory.
    pub text: String,
    /// The scope of the memory.
    pub scope: MemoryScope,
    /// How often it was written; 0 if it is declared and was never written.
    pub version: u64,
    /// When it was last written, if it was.
    pub at: Option<Timestamp>,
    /// The description for the model.
    pub description: Option<String>,
    /// How many characters it may have.
    pub max_chars: usize,
    /// Whether it was deleted: it says nothing, and its earlier versions are kept.
    pub is_deleted: bool,
}

impl Block {
    /// The name of a block's record among the memories of its scope.
    pub fn id(name: &str) -> MemoryId {
        MemoryId::from(format!("block:{name}"))
    }

    /// How many characters it has.
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
            .field("text_bytes", &self.text.len())
            .finish_non_exhaustive()
    }
}

/// What a block said once. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockVersion {
    /// Which version.
    pub version: u64,
    /// What it said.
    pub text: String,
    /// When it was written.
    pub at: Timestamp,
    /// Whether the block was deleted with it.
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
