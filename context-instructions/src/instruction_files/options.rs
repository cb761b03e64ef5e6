//! Options of the search for instruction files, and size limits.

use std::path::PathBuf;

/// Options of the search for instruction files, and size limits. The defaults suit most projects.
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
    /// Names of files in order of preference. A name may lead into a folder (`.claude/CLAUDE.md`).
    pub names: Vec<String>,
    /// Whether a folder's files of all names are taken, in the order of names. Otherwise only the
    /// first that exists is taken.
    pub every_name: bool,
    /// The project's root. `None` means the nearest folder with a `.git`, from the working folder
    /// up; if there is none, only the working folder is searched.
    pub root: Option<PathBuf>,
    /// Additional files, placed before those of the project. A file that does not exist is skipped.
    pub extra: Vec<PathBuf>,
    /// Limit for all files together, in bytes of the files. Notes about missing text are not
    /// counted.
    pub max_bytes: usize,
    /// Limit for one file, in bytes.
    pub max_file_bytes: usize,
    /// Whether a link in the project may lead out of its root. If not, such a file is skipped and
    /// reported: in a folder of strangers, a link can name any file of this machine. Files named in
    /// `extra` are read wherever they are.
    pub links_out: bool,
}

impl Default for InstructionOptions {
    /// Returns the default options: `AGENTS.md`, else `CLAUDE.md`; 64 KiB in total and 32 KiB per
    /// file; links are followed wherever they lead.
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
    /// Sets the names to look for.
    #[must_use]
    pub fn with_names<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.names = names.into_iter().map(Into::into).collect();
        self
    }

    /// Takes the files of all names in a folder, not only the first that exists.
    #[must_use]
    pub fn with_every_name(mut self) -> Self {
        self.every_name = true;
        self
    }

    /// Sets the root, which should be the working folder or a folder above it.
    #[must_use]
    pub fn with_root(mut self, root: impl Into<PathBuf>) -> Self {
        self.root = Some(root.into());
        self
    }

    /// Adds a file, placed before those of the project and after the extra files added so far.
    #[must_use]
    pub fn with_extra(mut self, file: impl Into<PathBuf>) -> Self {
        self.extra.push(file.into());
        self
    }

    /// Skips files of the project that a link puts outside of its root.
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
