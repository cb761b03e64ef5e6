//! The files of a snapshot: which of the listed paths there are, and whether they keep the limits.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use context_core::base::{DiagnosticCode, Severity};
use context_core::{Diagnostic, Error, ErrorKind, Result, Retry};

/// The limits of a snapshot. A workspace that exceeds one is refused before anything is written.
///
/// The limits are for accidents, such as a home folder that is taken for a workspace, or a build
/// whose output is not ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SnapshotLimits {
    /// The largest size of a file in bytes. Default: 64 MiB.
    pub max_file_bytes: u64,
    /// The largest total size of the files in bytes. Default: 2 GiB.
    pub max_bytes: u64,
    /// The largest number of files. Default: 200 000.
    pub max_files: usize,
}

impl Default for SnapshotLimits {
    fn default() -> Self {
        Self { max_file_bytes: 64 << 20, max_bytes: 2 << 30, max_files: 200_000 }
    }
}

/// The files of a snapshot.
#[derive(Debug, Default)]
pub(super) struct Files {
    /// Regular files and symbolic links, relative to the workspace, as git writes them.
    pub(super) paths: BTreeSet<Vec<u8>>,
    /// One for each part that is left out.
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// Looks at the paths that git lists and at those of the snapshot to restore.
///
/// A path below a symbolic link is no file of the workspace. A path of the snapshot that is in a
/// nested repository by now is a [conflict](ErrorKind::Conflict): a restore would write there.
pub(super) fn examine(
    workspace: &Path,
    listed: &[u8],
    wanted: &[u8],
    limits: &SnapshotLimits,
) -> Result<Files> {
    const OPERATION: &str = "take_snapshot";
    let mut files = Files::default();
    let mut folders = Folders { workspace, known: HashMap::new() };
    let mut bytes = 0;
    let paths = split(listed).map(|path| (path, false));
    for (path, is_wanted) in paths.chain(split(wanted).map(|path| (path, true))) {
        let Some(relative) = native(path) else {
            return Err(Error::invalid(OPERATION, "a name of a file is not Unicode")
                .with("file", shown(path)));
        };
        let full = workspace.join(&relative);
        if path.ends_with(b"/") {
            files.leave_out(path, "a nested repository, which has a history of its own");
            continue;
        }
        if files.paths.contains(path) {
            continue;
        }
        let (is_real, is_nested) = folders.look(relative.parent().unwrap_or(Path::new("")));
        if is_wanted && is_nested {
            return Err(nested(path));
        }
        if !is_real {
            continue;
        }
        let Some(found) = look(&full).map_err(|error| unreadable(error, path))? else { continue };
        if found.is_dir() {
            match full.join(".git").exists() {
                true if is_wanted => return Err(nested(path)),
                true => files.leave_out(path, "a submodule, which has a history of its own"),
                false => {}
            }
            continue;
        }
        if !found.is_file() && !found.is_symlink() {
            files.leave_out(path, "neither a file nor a symbolic link");
            continue;
        }
        bytes += found.len();
        let exceeded = [
            ("bytes of the file", found.len(), limits.max_file_bytes),
            ("bytes in all files", bytes, limits.max_bytes),
            ("files", files.paths.len() as u64 + 1, limits.max_files as u64),
        ];
        for (subject, size, limit) in exceeded {
            if size > limit {
                return Err(Error::invalid(
                    OPERATION,
                    "the workspace is too large for a snapshot; let .gitignore name what is not \
                     to be in it, or raise the limit",
                )
                .with("file", shown(path))
                .with(subject, size)
                .with("limit", limit));
            }
        }
        files.paths.insert(path.to_vec());
    }
    files.diagnostics.sort_by(|a, b| a.path.cmp(&b.path));
    files.diagnostics.dedup();
    Ok(files)
}

impl Files {
    /// Leaves out the folders that git could not list, as its messages say.
    pub(super) fn leave_out_unread(&mut self, messages: &[u8]) {
        const SAYS: &[u8] = b"warning: could not open directory '";
        for line in messages.split(|byte| *byte == b'\n') {
            let Some(rest) = line.strip_prefix(SAYS) else { continue };
            let end = rest.iter().rposition(|byte| *byte == b'\'').unwrap_or(rest.len());
            self.leave_out(&rest[..end], "a folder that cannot be read");
        }
    }

    fn leave_out(&mut self, path: &[u8], reason: &'static str) {
        self.diagnostics.push(Diagnostic::new(
            DiagnosticCode::NotInSnapshot,
            Severity::Warning,
            shown(path),
            reason,
        ));
    }
}

/// The folders of a workspace that were looked at.
struct Folders<'a> {
    workspace: &'a Path,
    /// The findings of [`look`](Self::look) for each.
    known: HashMap<PathBuf, (bool, bool)>,
}

impl Folders<'_> {
    /// Returns whether a folder is there and no symbolic link leads to it, and whether a nested
    /// repository is around it.
    fn look(&mut self, folder: &Path) -> (bool, bool) {
        let mut above: Vec<_> = folder.ancestors().collect();
        above.retain(|folder| !folder.as_os_str().is_empty());
        let (mut is_real, mut is_nested) = (true, false);
        for folder in above.into_iter().rev() {
            (is_real, is_nested) = match self.known.get(folder) {
                Some(known) => *known,
                None => {
                    let full = self.workspace.join(folder);
                    let real = is_real && fs::symlink_metadata(&full).is_ok_and(|m| m.is_dir());
                    let nested = is_nested || (real && full.join(".git").exists());
                    self.known.insert(folder.to_owned(), (real, nested));
                    (real, nested)
                }
            };
        }
        (is_real, is_nested)
    }
}

/// Returns what there is at a path. `None` if there is nothing.
fn look(path: &Path) -> std::io::Result<Option<Metadata>> {
    use std::io::ErrorKind as Kind;
    match fs::symlink_metadata(path) {
        Err(error) if matches!(error.kind(), Kind::NotFound | Kind::NotADirectory) => Ok(None),
        found => found.map(Some),
    }
}

fn nested(path: &[u8]) -> Error {
    let text = "a nested repository is where the snapshot has a file; move it away first";
    Error::new(ErrorKind::Conflict, "restore_snapshot", text).with("file", shown(path))
}

fn unreadable(error: std::io::Error, path: &[u8]) -> Error {
    Error::new(ErrorKind::Unavailable, "take_snapshot", "a file cannot be looked at")
        .with_retry(Retry::of_io(&error))
        .with("file", shown(path))
        .with_source(error)
}

/// Splits a list of paths that end with a null byte.
pub(super) fn split(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|byte| *byte == 0).filter(|path| !path.is_empty())
}

/// Joins paths to such a list.
pub(super) fn join<'a>(paths: impl IntoIterator<Item = &'a Vec<u8>>) -> Vec<u8> {
    let mut list = Vec::new();
    for path in paths {
        list.extend_from_slice(path);
        list.push(0);
    }
    list
}

/// Returns a path as people read it.
pub(super) fn shown(path: &[u8]) -> String {
    context_core::base::display::clean(&String::from_utf8_lossy(path)).to_string()
}

/// Returns a path of git as one of the host.
#[cfg(unix)]
pub(super) fn native(path: &[u8]) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    Some(PathBuf::from(OsStr::from_bytes(path)))
}

/// Returns a path of git as one of the host.
#[cfg(not(unix))]
pub(super) fn native(path: &[u8]) -> Option<PathBuf> {
    std::str::from_utf8(path).ok().map(|path| PathBuf::from(OsStr::new(path)))
}
