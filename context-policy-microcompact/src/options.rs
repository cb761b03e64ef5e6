//! Options: which results are shortened, and by how much.

use context_core::history::ToolNames;

/// The tools whose results are shortened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tools {
    /// All tools, except protected ones. Results of an application's own tools fill a window as
    /// well as the output of a shell.
    #[default]
    All,
    /// Only these tools.
    Only(ToolNames),
}

impl Tools {
    /// Returns the tools of common coding agents whose results can be obtained again: reading,
    /// running, searching, fetching, editing, writing.
    pub fn repeatable() -> Self {
        Self::Only(ToolNames::new([
            "read",
            "read_file",
            "bash",
            "shell",
            "grep",
            "glob",
            "web_search",
            "web_fetch",
            "edit",
            "edit_file",
            "write",
            "write_file",
        ]))
    }

    pub(crate) fn contains(&self, name: Option<&str>) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => name.is_some_and(|name| names.contains(name)),
        }
    }
}

/// The number of the newest results, or messages, that stay as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeepNewest {
    Results(usize),
    Messages(usize),
}

/// The size limit of a result, and the form of a longer one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    /// Both ends are kept, `tokens` tokens of them.
    Preview { tokens: u64 },
    /// Only a note is kept of a result with more UTF-16 code units.
    Clear { units: usize },
}
