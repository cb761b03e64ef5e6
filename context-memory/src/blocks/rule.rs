//! Declarations of blocks.

use context_core::{Error, Result};

use super::BlockError;
use crate::ScopeLevel;

/// The largest limit of a block, in characters.
const MOST_CHARS: usize = 32_000;
/// The longest name, in bytes.
const LONGEST_NAME: usize = 64;

/// A block that the application declares. It exists, empty, before it is first written.
///
/// ```
/// use context_memory::{BlockRule, ScopeLevel};
///
/// let rule = BlockRule::new("user")
///     .description("Who the user is and how they like to be answered.")
///     .max_chars(2_000)
///     .scope_level(ScopeLevel::User);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct BlockRule {
    pub(super) name: String,
    pub(super) description: Option<String>,
    pub(super) max_chars: usize,
    pub(super) scope_level: ScopeLevel,
}

impl BlockRule {
    /// The default limit in characters.
    pub const DEFAULT_CHARS: usize = 4_000;

    /// Creates a rule with a limit of 4,000 characters, filed [across sessions](ScopeLevel::Agent).
    pub fn new(name: impl Into<String>) -> Self {
        let name = name.into();
        Self {
            name,
            description: None,
            max_chars: Self::DEFAULT_CHARS,
            scope_level: ScopeLevel::default(),
        }
    }

    /// Sets the purpose of the block, for the model.
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = Some(text.into());
        self
    }

    /// Sets the limit in characters, from 1 to 32,000.
    pub fn max_chars(mut self, chars: usize) -> Self {
        self.max_chars = chars;
        self
    }

    /// Sets the part of the scope that the block is filed under.
    pub fn scope_level(mut self, level: ScopeLevel) -> Self {
        self.scope_level = level;
        self
    }

    pub(super) fn check(&self) -> Result<()> {
        check_name(&self.name)?;
        if (1..=MOST_CHARS).contains(&self.max_chars) {
            return Ok(());
        }
        Err(Error::invalid("blocks", "a block has at least one character and at most the limit")
            .with("block", &self.name)
            .with("asked", self.max_chars)
            .with("limit", MOST_CHARS))
    }
}

/// Checks a block name: 1 to 64 ASCII letters and digits, `-`, `_` and `.`.
pub(super) fn check_name(name: &str) -> Result<(), BlockError> {
    let taken = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(taken) {
        return Ok(());
    }
    Err(BlockError::BadName { longest: LONGEST_NAME })
}
