//! Snapshots of a folder with the git program.
//!
//! A snapshot is a commit without a branch. It is kept by a ref below `refs/context`, so that git
//! does not remove it as unreachable.
//!
//! The files are read and written through a private git folder with an index of its own. Nothing of
//! the user's repository is touched but its objects and these refs: not its index, `HEAD`,
//! branches, stash, configuration or hooks. The private folder's attributes switch off all filters
//! and conversions, so files come back byte for byte, whatever `.gitattributes` says.

mod call;
mod files;
mod program;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use async_trait::async_trait;
use context_core::base::SnapshotId;
use context_core::workspace::{NewSnapshot, Restored, Snapshot, WorkspaceSnapshots};
use context_core::{Error, ErrorKind, Result, Retry, Timestamp};

use self::call::{Call, to_its_end};
pub use self::files::SnapshotLimits;
use self::files::{examine, join, split};
use self::program::{Git, failed, message, wait};

/// Attributes of the private folder, which win over all others.
const ATTRIBUTES: &str = "* -text -filter -ident !eol !crlf !working-tree-encoding\n";

/// The author of a snapshot's commit.
const AUTHOR: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "context"),
    ("GIT_AUTHOR_EMAIL", "context@localhost"),
    ("GIT_COMMITTER_NAME", "context"),
    ("GIT_COMMITTER_EMAIL", "context@localhost"),
];

const TAKE: &str = "take_snapshot";
const RESTORE: &str = "restore_snapshot";

/// Snapshots of a folder, as commits of git.
///
/// A snapshot has the files of the folder and its subfolders: those that are tracked, and those
/// that are untracked and not ignored. Symbolic links, the executable bit, and names of any bytes
/// come back as they were. Folders without files, other permissions and times of files do not.
/// Ignored files are neither in a snapshot nor touched by a restore. Submodules and nested
/// repositories are left alone, and the [snapshot](Snapshot::diagnostics) names them. A restore
/// that would write into one, or overwrite an ignored file, is refused as a
/// [conflict](ErrorKind::Conflict).
///
/// A restore removes the files that its own snapshot of before has and the older one has not. If
/// another program writes a file at the same time, the restore is refused as a conflict before it
/// changes a file; only a write within the moment of the change itself is not noticed. A snapshot
/// is not one moment of all files, either: a file that is written meanwhile is in it before or
/// after.
///
/// Calls for one folder wait for each other, in other processes too. A call that has its turn goes
/// on if its future is dropped. On Unix, git runs in a process group of its own, so Ctrl-C does not
/// reach it.
///
/// ```no_run
/// use context_runtime::workspace::{GitSnapshots, Workspace};
/// use context_runtime::ContextEngine;
///
/// # async fn example() -> context_runtime::Result<()> {
/// let files = GitSnapshots::open("trips").await?;
/// let store = context_runtime::open("sqlite:trips.db").await?;
/// let mut chat = ContextEngine::builder(store)
///     .user("ada")
///     .chat("lisbon")
///     .workspace(Workspace::new(files))
///     .open()
///     .await?;
/// chat.checkpoint("before the refactoring").await?; // files and conversation
/// chat.restore("before the refactoring").await?; // both again
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct GitSnapshots {
    workspace: PathBuf,
    limits: SnapshotLimits,
    /// The private git folder.
    private: PathBuf,
    /// The repository that lists files and keeps refs.
    keeper: Git,
    /// The private folder, the objects of the keeper, and the workspace.
    files: Git,
    /// The prefix of the refs of this workspace.
    refs: String,
    is_apart: bool,
}

impl GitSnapshots {
    /// Opens a workspace within a repository of git, which keeps the snapshots. The workspace may
    /// be any folder of it; files outside of the folder are neither read nor written.
    ///
    /// Commands such as `git log --all` and `git push --mirror` include the refs of snapshots.
    ///
    /// [`NotFound`](ErrorKind::NotFound) if the folder is in no repository:
    /// [`open_apart`](Self::open_apart) works for any folder. [`Unsupported`](ErrorKind::Unsupported)
    /// if git is not installed.
    pub async fn open(workspace: impl AsRef<Path>) -> Result<Self> {
        const OPERATION: &str = "open_workspace";
        let workspace = folder(workspace.as_ref())?;
        let keeper = Git::at(&workspace);
        let args = ["rev-parse", "--is-inside-work-tree"];
        let output = keeper.output(OPERATION, &args, Vec::new()).await?;
        let text = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() && !text.contains("not a git repository") {
            return Err(failed(OPERATION, &args, &output));
        }
        if output.stdout.trim_ascii() != b"true" {
            return Err(Error::not_found(OPERATION, "repository", workspace.display()));
        }
        let git_dir = keeper.path(OPERATION, &["--absolute-git-dir"]).await?;
        let prefix = keeper.path(OPERATION, &["--show-prefix"]).await?;
        let ignored = keeper.output(OPERATION, &["check-ignore", "-q", "."], Vec::new()).await?;
        if !prefix.as_os_str().is_empty() && ignored.status.success() {
            return Err(Error::invalid(
                OPERATION,
                "the repository ignores this folder; keep its snapshots apart",
            )
            .with("folder", workspace.display()));
        }
        let objects = workspace.join(keeper.path(OPERATION, &["--git-path", "objects"]).await?);
        let format = keeper.path(OPERATION, &["--show-object-format"]).await?;
        // All work trees of a repository have the same refs.
        let tree = git_dir.file_name().unwrap_or_default().as_encoded_bytes();
        let name = short_hash(&[tree, b"/", prefix.as_os_str().as_encoded_bytes()].concat());
        let private = git_dir.join("context").join(&name);
        let refs = format!("refs/context/{name}/");
        let git = Git::at(&workspace).with("GIT_OBJECT_DIRECTORY", objects);
        let opened = Self::with(workspace, private, git, keeper, refs);
        opened.prepare(OPERATION, Some(format.as_os_str())).await?;
        Ok(opened)
    }

    /// Opens a workspace whose snapshots are in a repository of their own, below the folder
    /// `repositories`, which must be outside of the workspace. For folders that are in no
    /// repository, and for users who want nothing of this in theirs. The folder may serve any
    /// number of workspaces, which are told apart by their paths. What is not to be in a snapshot
    /// is named in `.gitignore` files of the workspace.
    pub async fn open_apart(
        workspace: impl AsRef<Path>,
        repositories: impl AsRef<Path>,
    ) -> Result<Self> {
        const OPERATION: &str = "open_workspace";
        let workspace = folder(workspace.as_ref())?;
        let refuse = |error| unusable(OPERATION, "the folder of snapshots cannot be used", error);
        fs::create_dir_all(repositories.as_ref()).map_err(refuse)?;
        let repositories = fs::canonicalize(repositories.as_ref()).map_err(refuse)?;
        if repositories.starts_with(&workspace) {
            return Err(Error::invalid(OPERATION, "snapshots cannot be within their workspace")
                .with("folder", repositories.display()));
        }
        let name = blake3::hash(workspace.as_os_str().as_encoded_bytes()).to_hex();
        let private = repositories.join(&name[..16]);
        let git = Git::at(&workspace);
        // An index that does not exist: every file is untracked.
        let keeper = Git::at(&workspace)
            .with("GIT_DIR", &private)
            .with("GIT_WORK_TREE", &workspace)
            .with("GIT_INDEX_FILE", private.join("none"));
        let refs = "refs/context/".to_owned();
        let opened = Self { is_apart: true, ..Self::with(workspace, private, git, keeper, refs) };
        opened.prepare(OPERATION, None).await?;
        Ok(opened)
    }

    /// Sets the limits of snapshots. Default: [`SnapshotLimits::default`].
    #[must_use]
    pub fn limits(mut self, limits: SnapshotLimits) -> Self {
        self.limits = limits;
        self
    }

    fn with(workspace: PathBuf, private: PathBuf, git: Git, keeper: Git, refs: String) -> Self {
        let files = git.with("GIT_DIR", &private).with("GIT_WORK_TREE", &workspace);
        let limits = SnapshotLimits::default();
        Self { workspace, limits, private, keeper, files, refs, is_apart: false }
    }

    /// Makes the private git folder, if it is not there.
    async fn prepare(&self, operation: &'static str, format: Option<&OsStr>) -> Result<()> {
        let attributes = self.private.join("info").join("attributes");
        if fs::read_to_string(&attributes).is_ok_and(|text| text == ATTRIBUTES) {
            return Ok(());
        }
        let refuse = |error| unusable(operation, "the private git folder cannot be made", error);
        fs::create_dir_all(&self.private).map_err(refuse)?;
        // Otherwise a setting of the user decides.
        let git = self.files.clone();
        let git = match format {
            Some(format) => git.with("GIT_DEFAULT_HASH", format),
            None => git,
        };
        git.run(operation, &["init", "--quiet", "--template="]).await?;
        if self.is_apart {
            for (name, value) in [("gc.auto", "2000"), ("gc.pruneExpire", "1.day.ago")] {
                self.files.run(operation, &["config", name, value]).await?;
            }
        }
        // Written last: its presence says that the folder is complete.
        fs::create_dir_all(self.private.join("info")).map_err(refuse)?;
        fs::write(&attributes, ATTRIBUTES).map_err(refuse)
    }

    /// Takes a snapshot that also has those files of `wanted` that are there.
    async fn take_with(&self, call: &Call, new: &NewSnapshot, wanted: Vec<u8>) -> Result<Snapshot> {
        let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
        let listed = self.keeper.output(TAKE, &list, Vec::new()).await?;
        if !listed.status.success() {
            return Err(failed(TAKE, &list, &listed));
        }
        let (workspace, limits) = (self.workspace.clone(), self.limits);
        let files = tokio::task::spawn_blocking(move || {
            examine(&workspace, &listed.stdout, &wanted, &limits)
        });
        let mut files = files.await.map_err(|error| call::lost(TAKE, error))??;
        files.leave_out_unread(&listed.stderr);
        let tree = match self.write_tree(call, &files.paths, true).await {
            Ok(tree) => tree,
            // Git may have removed objects that only the index of before refers to.
            Err(_) => self.write_tree(call, &files.paths, false).await?,
        };
        let at = new.at.as_micros();
        let date = format!("@{} +0000", at.max(0) / 1_000_000);
        let mut git = self.files.clone();
        for (name, value) in AUTHOR {
            git = git.with(name, value);
        }
        let git = git.with("GIT_AUTHOR_DATE", &date).with("GIT_COMMITTER_DATE", &date);
        let body = format!("Snapshot of a workspace\n\nAt: {at}\nKey: {}\n", new.key);
        let id = git.feed(TAKE, &["commit-tree", &tree], body.into_bytes()).await?;
        let id = String::from_utf8_lossy(&id).trim_end().to_owned();
        let name = format!("{}{}/{id}", self.refs, short_hash(new.owner.as_bytes()));
        self.keeper.run(TAKE, &["update-ref", &name, &id]).await?;
        if self.is_apart {
            self.files.run(TAKE, &["gc", "--auto", "--quiet"]).await?;
        }
        let mut snapshot = Snapshot::new(id, new.key.as_str(), new.at);
        snapshot.diagnostics = files.diagnostics;
        Ok(snapshot)
    }

    /// Brings the private index up to date with files, and writes them as a tree.
    async fn write_tree(
        &self,
        call: &Call,
        paths: &std::collections::BTreeSet<Vec<u8>>,
        reuse: bool,
    ) -> Result<String> {
        let git = self.files.clone().with("GIT_INDEX_FILE", call.index(reuse)?);
        let known = git.run(TAKE, &["ls-files", "-z"]).await?;
        let gone: Vec<_> =
            split(&known).map(<[u8]>::to_vec).filter(|path| !paths.contains(path)).collect();
        if !gone.is_empty() {
            let args = ["update-index", "--force-remove", "-z", "--stdin"];
            git.feed(TAKE, &args, join(&gone)).await?;
        }
        let args = ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"];
        git.feed(TAKE, &args, join(paths)).await?;
        let tree = git.run(TAKE, &["write-tree"]).await?;
        call.keep_index()?;
        Ok(String::from_utf8_lossy(&tree).trim_end().to_owned())
    }

    /// Changes the files from one snapshot to another. Refuses to if a file is not as the first one
    /// has it.
    async fn apply(&self, call: &Call, before: &Snapshot, id: &SnapshotId) -> Result<Restored> {
        let (from, to) = (before.id.as_str(), id.as_str());
        let args = ["diff-tree", "-r", "-z", "--no-renames", "--name-status", from, to];
        let changes = self.files.run(RESTORE, &args).await?;
        let states = split(&changes).step_by(2);
        let (removed, written): (Vec<_>, Vec<_>) = states.partition(|state| *state == b"D");
        let git = self.files.clone().with("GIT_COMMON_DIR", &self.private);
        let git = git.with("GIT_INDEX_FILE", call.index(true)?);
        let git = git.with("GIT_DIR", call.head_at(from)?);
        // The only command that spares ignored files. Its HEAD is that of the call.
        let args = [
            "-c",
            "core.logAllRefUpdates=false",
            "checkout",
            "--quiet",
            "--no-overwrite-ignore",
            "--no-recurse-submodules",
            "--detach",
            to,
        ];
        let output = wait(RESTORE, git.spawn(RESTORE, &args, call.hold()?)?).await?;
        if !is_complete(&output) {
            let error = match is_conflict(&output) {
                true => Error::new(
                    ErrorKind::Conflict,
                    RESTORE,
                    "a file was changed meanwhile, or is not in the snapshot of before",
                )
                .with("message", message(&output)),
                false => failed(RESTORE, &args[2..], &output),
            };
            return Err(error.with("snapshot of before", from));
        }
        call.keep_index()?;
        Ok(Restored::new(before.clone(), written.len() as u64, removed.len() as u64))
    }

    /// Returns the refs below a prefix, each with its commit.
    async fn refs(&self, operation: &'static str, below: &str) -> Result<Vec<(String, String)>> {
        let args = ["for-each-ref", "--format=%(objectname) %(refname)", below];
        let list = self.keeper.run(operation, &args).await?;
        let list = String::from_utf8_lossy(&list);
        let pairs = list.lines().filter_map(|line| line.split_once(' '));
        Ok(pairs.map(|(commit, name)| (commit.to_owned(), name.to_owned())).collect())
    }
}

#[async_trait]
impl WorkspaceSnapshots for GitSnapshots {
    async fn take(&self, new: &NewSnapshot) -> Result<Snapshot> {
        let call = Call::begin(TAKE, &self.private, &new.key).await?;
        let (this, new) = (self.clone(), new.clone());
        to_its_end(TAKE, async move {
            let taken = this.take_with(&call, &new, Vec::new()).await;
            call.end();
            taken
        })
        .await
    }

    async fn restore(&self, id: &SnapshotId, before: &NewSnapshot) -> Result<Restored> {
        let known = self.refs(RESTORE, &self.refs).await?;
        if !known.iter().any(|(commit, _)| id == commit.as_str()) {
            return Err(
                Error::not_found(RESTORE, "snapshot", id).with("folder", self.workspace.display())
            );
        }
        let args = ["ls-tree", "-r", "-z", "--name-only", "--full-tree", id.as_str()];
        let wanted = self.files.run(RESTORE, &args).await?;
        let call = Call::begin(RESTORE, &self.private, &before.key).await?;
        let (this, before, id) = (self.clone(), before.clone(), id.clone());
        to_its_end(RESTORE, async move {
            let restored = match this.take_with(&call, &before, wanted).await {
                Ok(before) => this.apply(&call, &before, &id).await,
                Err(error) => Err(error),
            };
            call.end();
            restored
        })
        .await
    }

    async fn remove(&self, id: &SnapshotId) -> Result<bool> {
        const OPERATION: &str = "remove_snapshot";
        let known = self.refs(OPERATION, &self.refs).await?;
        match known.iter().find(|(commit, _)| id == commit.as_str()) {
            None => Ok(false),
            Some((_, name)) => {
                self.keeper.run(OPERATION, &["update-ref", "-d", name]).await?;
                Ok(true)
            }
        }
    }

    async fn list(&self, owner: &str) -> Result<Vec<Snapshot>> {
        const OPERATION: &str = "list_snapshots";
        let below = format!("{}{}/", self.refs, short_hash(owner.as_bytes()));
        let args = ["for-each-ref", "--format=%(objectname)%00%(contents:body)%00", &below];
        let list = self.keeper.run(OPERATION, &args).await?;
        let list = String::from_utf8_lossy(&list);
        let mut fields = list.split('\0');
        let mut snapshots = Vec::new();
        while let (Some(id), Some(body)) = (fields.next(), fields.next()) {
            let line = |name: &str| body.lines().find_map(|line| line.strip_prefix(name));
            let at = line("At: ").and_then(|at| at.parse().ok()).unwrap_or_default();
            let key = line("Key: ").unwrap_or_default();
            snapshots.push(Snapshot::new(id.trim_start(), key, Timestamp::from_micros(at)));
        }
        snapshots.sort_by(|a, b| (a.at, &a.key).cmp(&(b.at, &b.key)));
        Ok(snapshots)
    }
}

/// Whether the files are those of the snapshot. Git reports success if only some could be written.
fn is_complete(output: &Output) -> bool {
    let says = |line: &[u8]| {
        ["error:", "fatal:", "warning: unable to unlink"]
            .iter()
            .any(|words| line.starts_with(words.as_bytes()))
    };
    output.status.success() && !output.stderr.split(|byte| *byte == b'\n').any(says)
}

/// Whether git refused before it changed a file.
fn is_conflict(output: &Output) -> bool {
    let text = String::from_utf8_lossy(&output.stderr);
    let conflicts = ["not uptodate", "would be overwritten", "would lose", "would be removed"];
    output.status.code() == Some(1) && conflicts.iter().any(|words| text.contains(words))
}

/// Returns the real path of a folder that exists.
fn folder(path: &Path) -> Result<PathBuf> {
    const OPERATION: &str = "open_workspace";
    let found = fs::canonicalize(path)
        .map_err(|error| unusable(OPERATION, "the workspace cannot be opened", error))
        .map_err(|error| error.with("folder", path.display()))?;
    match found.is_dir() {
        true => Ok(found),
        false => Err(Error::invalid(OPERATION, "the workspace is not a folder")
            .with("folder", path.display())),
    }
}

fn unusable(operation: &'static str, text: &'static str, error: std::io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, operation, text)
        .with_retry(Retry::of_io(&error))
        .with_source(error)
}

/// Returns a part of a name of refs that stands for a text and does not show it.
fn short_hash(text: &[u8]) -> String {
    blake3::hash(text).to_hex()[..16].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The moment between the two halves of a restore.
    #[tokio::test]
    async fn a_file_that_is_written_after_the_snapshot_of_before_is_not_overwritten() {
        let (folder, apart) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let at = |name: &str| folder.path().join(name);
        let write = |name: &str, text: &str| fs::write(at(name), text).unwrap();
        let new = |key: &str| NewSnapshot::new("chat", key, Timestamp::from_micros(1));
        let snapshots = GitSnapshots::open_apart(folder.path(), apart.path()).await.unwrap();
        write("changed", "one");
        write("kept", "one");
        let first = snapshots.take(&new("first")).await.unwrap();
        for (name, file) in [("second", "changed"), ("third", "created")] {
            write("changed", "two");
            write("created", "two");
            write("kept", "two");
            let before = snapshots.take(&new(name)).await.unwrap();
            write(file, "written meanwhile");
            let call = Call::begin(RESTORE, &snapshots.private, name).await.unwrap();
            let refused = snapshots.apply(&call, &before, &first.id).await.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Conflict, "{refused}");
            assert_eq!(fs::read_to_string(at(file)).unwrap(), "written meanwhile");
            assert_eq!(fs::read_to_string(at("kept")).unwrap(), "two", "nothing else is changed");
        }
    }
}
