//! What to look for, and how much of it to take.

use std::path::PathBuf;

/// What to look for, and how much of it to take. The defaults suit most projects.
///
/// ```
/// use context_instructions::InstructionOptions;
///
/// let options = InstructionOptions::default()
///     .with_names(["AGENTS.override.md", "AGENTS.md"])
///     .with_extra("/srv/me/.agents/AGENTS.md")
///     .with_max_bytes(32 << 10);
/// assert_eq!(options.extra.len(), 1);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstructionOptions {
    /// Names of files in order of preference. They may lead into a folder (`.claude/CLAUDE.md`).
    pub names: Vec<String>,
    /// Whether every name counts in a folder, in the order of names; else only the first that is
    /// there.
    pub every_name: bool,
    /// The project's root. Without one it is the nearest folder with a `.git`, from the working
    /// folder up; if there is none, the working folder alone is looked at.
    pub root: Option<PathBuf>,
    /// Files to take besides, before those of the project. One that does not exist is passed over.
    pub extra: Vec<PathBuf>,
    /// The limit of all files together, in bytes of the files. Notes about what is missing come on
    /// top.
    pub max_bytes: usize,
    /// The limit of one file in bytes.
    pub max_file_bytes: usize,
    /// Whether a link in the project may lead out of its root. If not, such a file is passed over
    /// and reported: in a folder of strangers, a link can name any file of this machine. Files that
    /// are named in `extra` are read wherever they are.
    pub links_out: bool,
}

impl Default for InstructionOptions {
    /// `AGENTS.md`, else `CLAUDE.md`; 64 KiB in all and 32 KiB a file; links are followed wherever
    /// they lead.
    fn default() -> Self {
        Self {
            names: vec!["AGENTS.md".to_owned(), "CLAUDE.md".to_owned()],
            every_name: false,
            root: None,
            extra: Vec::new(),
            max_bytes: 64 << 10,
            max_file_bytes: 32 << 10,
            links_out: true,
        }
    }
}

impl InstructionOptions {
    /// Looks for these names.
    #[must_use]
    pub fn with_names<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.names = names.into_iter().map(Into::into).collect();
        self
    }

    /// Takes every name of a folder, not only the first that is there.
    #[must_use]
    pub fn with_every_name(mut self) -> Self {
        self.every_name = true;
        self
    }

    /// Begins at this folder, which should be the working folder or above it.
    #[must_use]
    pub fn with_root(mut self, root: impl Into<PathBuf>) -> Self {
        self.root = Some(root.into());
        self
    }

    /// Takes one more file, before those of the project and behind the extra files named so far.
    #[must_use]
    pub fn with_extra(mut self, file: impl Into<PathBuf>) -> Self {
        self.extra.push(file.into());
        self
    }

    /// Reads no file of the project that a link puts outside of its root.
    #[must_use]
    pub fn without_links_out(mut self) -> Self {
        self.links_out = false;
        self
    }

    /// Limits all files together, in bytes.
    #[must_use]
    pub fn with_max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Limits each file, in bytes.
    #[must_use]
    pub fn with_max_file_bytes(mut self, bytes: usize) -> Self {
        self.max_file_bytes = bytes;
        self
    }
}
