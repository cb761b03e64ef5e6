//! What may be shortened, and by how much.

use context_core::history::ToolNames;

/// Whose results are shortened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tools {
    /// Those of every tool, protected ones apart. What an application's own tools answer fills a
    /// window as well as what a shell prints.
    #[default]
    All,
    /// Those of these tools.
    Only(ToolNames),
}

impl Tools {
    /// The tools of common coding agents whose answers can be had again: reading, running,
    /// searching, fetching, editing, writing.
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

/// How many of the newest stay as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    Results(usize),
    Messages(usize),
}

/// What becomes of a result, and from which size on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    /// Its ends are left: so many tokens of them.
    Preview { tokens: u64 },
    /// A note is left, if it has more UTF-16 code units.
    Clear { units: usize },
}
