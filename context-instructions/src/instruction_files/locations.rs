//! The locations that a scan searches for instruction files.

use std::path::{Path, PathBuf};

use context_core::Diagnostic;
use context_core::base::{DiagnosticCode, Severity};

use super::InstructionOptions;

/// A location of the search: one file named by path, or the names to try in one folder.
pub(super) struct Location {
    /// The files to try, in order.
    pub(super) files: Vec<Candidate>,
    /// Whether every existing file is taken, or only the first.
    pub(super) every: bool,
}

/// A file that may exist.
pub(super) struct Candidate {
    pub(super) path: PathBuf,
    /// The path as the model sees it: from the project's root, with slashes.
    pub(super) shown: String,
    /// The folder that must contain the file after links are resolved.
    pub(super) required_root: Option<PathBuf>,
}

/// Returns the locations in order, farthest first.
pub(super) fn locations(
    working: &Path,
    options: &InstructionOptions,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Location> {
    let extra = options.extra.iter().map(|path| Location {
        files: vec![Candidate {
            path: path.clone(),
            shown: path.to_string_lossy().into_owned(),
            required_root: None,
        }],
        every: true,
    });
    let mut locations: Vec<_> = extra.collect();
    // Links are resolved, so that each ancestor of the path is a parent folder.
    let folder = match working.canonicalize() {
        Ok(folder) => folder,
        Err(error) => {
            let message = format!(
                "the working folder cannot be read, so only the extra files are used; name one that can be: {error}"
            );
            let (code, path) =
                (DiagnosticCode::InstructionDiscoveryFailed, working.to_string_lossy());
            diagnostics.push(Diagnostic::new(code, Severity::Error, path, message));
            return locations;
        }
    };
    let root = root_of(&folder, options.root.as_deref(), diagnostics);
    let mut folders: Vec<_> =
        folder.ancestors().take_while(|folder| folder.starts_with(&root)).collect();
    folders.reverse();
    locations.extend(folders.into_iter().map(|folder| {
        Location {
            files: options
                .names
                .iter()
                .map(|name| candidate(&root, folder.join(name), options.links_out))
                .collect(),
            every: options.every_name,
        }
    }));
    locations
}

fn candidate(root: &Path, path: PathBuf, links_out: bool) -> Candidate {
    let relative = path.strip_prefix(root).unwrap_or(&path);
    let parts: Vec<_> = relative.iter().map(|part| part.to_string_lossy()).collect();
    let shown = parts.join("/");
    let required_root = (!links_out).then(|| root.to_owned());
    Candidate { path, shown, required_root }
}

fn root_of(folder: &Path, given: Option<&Path>, diagnostics: &mut Vec<Diagnostic>) -> PathBuf {
    let Some(given) = given else {
        // A file `.git` is a worktree or a submodule.
        let root = folder.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok());
        return root.unwrap_or(folder).to_owned();
    };
    let (code, message) = match given.canonicalize() {
        Ok(root) if folder.starts_with(&root) => return root,
        Ok(_) => (
            DiagnosticCode::Misplaced,
            "the working folder is not in this root, so only the working folder is searched; name a folder above it"
                .to_owned(),
        ),
        Err(error) => (
            DiagnosticCode::InstructionDiscoveryFailed,
            format!(
                "the root cannot be read, so only the working folder is searched; name one that can be: {error}"
            ),
        ),
    };
    let path = given.to_string_lossy();
    diagnostics.push(Diagnostic::new(code, Severity::Warning, path, message));
    folder.to_owned()
}
