//! `--output` and `--force`: where the content of a command goes.

use std::path::{Path, PathBuf};

use crate::error::Failure;
use crate::output::{Output, write_file};

/// The file for what would be written to standard output.
#[derive(clap::Args, Clone, Debug, Default)]
pub(super) struct OutputArgs {
    /// Write to this file; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file if there is one
    #[arg(long, requires = "output")]
    force: bool,
}

impl OutputArgs {
    /// Returns the file, if it is not standard output.
    pub(super) fn file(&self) -> Option<&Path> {
        self.output.as_deref().filter(|path| path.as_os_str() != "-")
    }

    /// Returns whether an existing file is replaced.
    pub(super) fn force(&self) -> bool {
        self.force
    }

    /// Fails if there is a file that is not to be replaced.
    pub(super) fn check(&self) -> Result<(), Failure> {
        match self.file() {
            Some(file) if !self.force && file.symlink_metadata().is_ok() => {
                Err(Failure::Exists { file: file.display().to_string() })
            }
            _ => Ok(()),
        }
    }

    /// Lets the content of the output go to the file.
    pub(super) fn redirect(&self, out: &mut Output) -> Result<(), Failure> {
        match self.file() {
            Some(file) => out.redirect(file, self.force),
            None => Ok(()),
        }
    }

    /// Writes the file at once, if there is one.
    pub(super) fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        match self.file() {
            Some(file) => write_file(file, self.force, bytes),
            None => Ok(()),
        }
    }
}
