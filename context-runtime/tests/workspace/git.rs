//! Files that come back, and restores that are refused.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use context_runtime::workspace::{
    GitSnapshots, NewSnapshot, Snapshot, SnapshotLimits, WorkspaceSnapshots,
};
use context_runtime::{DiagnosticCode, ErrorKind, Timestamp};
use tempfile::TempDir;

/// A folder that is removed at the end of the test.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn plain() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A repository with a commit.
    pub(crate) fn repository() -> Self {
        let folder = Self::plain();
        folder.git(&["init", "-q"]);
        folder.write("committed", "committed\n");
        folder.git(&["add", "committed"]);
        folder.git(&["commit", "-q", "-m", "first"]);
        folder
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn at(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path().join(name)
    }

    pub(crate) fn write(&self, name: impl AsRef<Path>, text: &str) {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, name: impl AsRef<Path>) -> String {
        fs::read_to_string(self.at(name)).unwrap()
    }

    pub(crate) fn has(&self, name: impl AsRef<Path>) -> bool {
        self.at(name).symlink_metadata().is_ok()
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=t", "-c", "user.email=t@localhost"]).args(args);
        command.current_dir(self.path()).env("GIT_CONFIG_GLOBAL", "/dev/null");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Every file with its kind, mode and content, without git's own.
    pub(crate) fn everything(&self) -> Vec<String> {
        let (mut all, mut folders) = (Vec::new(), vec![self.path().to_owned()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let found = path.symlink_metadata().unwrap();
                let name = path.strip_prefix(self.path()).unwrap();
                if name.starts_with(".git") {
                    continue;
                }
                if found.is_dir() {
                    folders.push(path);
                } else if found.is_symlink() {
                    all.push(format!("{name:?} -> {:?}", fs::read_link(&path).unwrap()));
                } else {
                    let is_program = found.permissions().mode() & 0o100 != 0;
                    all.push(format!("{name:?} {is_program} {:?}", fs::read(&path).unwrap()));
                }
            }
        }
        all.sort();
        all
    }
}

/// Takes a snapshot under a key.
pub(crate) async fn take(snapshots: &GitSnapshots, key: &str) -> Snapshot {
    snapshots.take(&new(key)).await.unwrap()
}

pub(crate) fn new(key: &str) -> NewSnapshot {
    NewSnapshot::new("chat", key, Timestamp::from_micros(1_000_000))
}

#[tokio::test]
async fn files_come_back_exactly() {
    for apart in [false, true] {
        let other = Folder::plain();
        let folder = if apart { Folder::plain() } else { Folder::repository() };
        let snapshots = match apart {
            true => GitSnapshots::open_apart(folder.path(), other.path()).await.unwrap(),
            false => GitSnapshots::open(folder.path()).await.unwrap(),
        };
        let odd = Path::new(OsStr::from_bytes(b"odd \xff \n\t\"\\ name"));
        folder.write(".gitignore", "ignored\ntarget/\n");
        folder.write("text", "a\r\nb\n");
        folder.write("sub/deep/file", "deep");
        folder.write("was a file", "file");
        folder.write("was a folder/file", "in a folder");
        folder.write("program", "#!/bin/sh\n");
        folder.write("-dash", "x");
        folder.write(":(glob)*", "magic");
        folder.write(odd, "odd");
        folder.write("ignored", "1");
        folder.write("target/object", "1");
        symlink("text", folder.at("link")).unwrap();
        symlink("nowhere", folder.at("dangling")).unwrap();
        symlink("sub", folder.at("link to folder")).unwrap();
        fs::set_permissions(folder.at("program"), fs::Permissions::from_mode(0o755)).unwrap();
        let then = folder.everything();
        let first = take(&snapshots, "first").await;
        assert_eq!(first.diagnostics, []);

        folder.write("text", "changed");
        folder.write("created", "new");
        folder.write("created folder/file", "new");
        folder.write("ignored", "2");
        fs::remove_file(folder.at(odd)).unwrap();
        fs::remove_file(folder.at("was a file")).unwrap();
        folder.write("was a file/now a folder", "x");
        fs::remove_dir_all(folder.at("was a folder")).unwrap();
        folder.write("was a folder", "now a file");
        fs::remove_file(folder.at("link")).unwrap();
        symlink("-dash", folder.at("link")).unwrap();
        fs::remove_dir_all(folder.at("sub")).unwrap();
        symlink(other.path(), folder.at("sub")).unwrap();
        fs::set_permissions(folder.at("program"), fs::Permissions::from_mode(0o644)).unwrap();
        let now = folder.everything();

        let restored = snapshots.restore(&first.id, &new("before")).await.unwrap();
        folder.write("ignored", "1");
        assert_eq!(folder.everything(), then);
        assert!(!folder.has("created folder"), "a folder that only held such files goes too");
        assert_eq!(fs::read_dir(other.path()).unwrap().count(), usize::from(apart));

        snapshots.restore(&restored.before.id, &new("back")).await.unwrap();
        folder.write("ignored", "2");
        assert_eq!(folder.everything(), now);
        let again = snapshots.restore(&restored.before.id, &new("again")).await.unwrap();
        assert_eq!((again.written, again.removed), (0, 0));

        let keys: Vec<_> =
            snapshots.list("chat").await.unwrap().into_iter().map(|one| one.key).collect();
        assert_eq!(keys, ["again", "back", "before", "first"]);
        assert!(snapshots.remove(&first.id).await.unwrap());
        assert!(!snapshots.remove(&first.id).await.unwrap());
        let gone = snapshots.restore(&first.id, &new("gone")).await.unwrap_err();
        assert_eq!(gone.kind(), ErrorKind::NotFound);
        assert_eq!(folder.everything(), now);
    }
}

#[tokio::test]
async fn a_workspace_over_a_limit_is_refused_before_anything_is_written() {
    let folder = Folder::repository();
    folder.write("a", "12345");
    folder.write("b", "12345");
    let snapshots = GitSnapshots::open(folder.path()).await.unwrap();
    let first = take(&snapshots, "first").await;
    let objects = folder.git(&["count-objects"]);
    let limits = |change: fn(&mut SnapshotLimits)| {
        let mut limits = SnapshotLimits::default();
        change(&mut limits);
        snapshots.clone().limits(limits)
    };
    folder.write("a", "other");
    for (limited, subject) in [
        (limits(|limits| limits.max_file_bytes = 4), "bytes of the file"),
        (limits(|limits| limits.max_bytes = 12), "bytes in all files"),
        (limits(|limits| limits.max_files = 2), "files"),
    ] {
        let refused = limited.take(&new("second")).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Invalid);
        assert!(refused.get(subject).is_some() && refused.get("file").is_some(), "{refused}");
        let refused = limited.restore(&first.id, &new("third")).await.unwrap_err();
        assert_eq!((refused.kind(), folder.read("a")), (ErrorKind::Invalid, "other".into()));
    }
    assert_eq!(folder.git(&["count-objects"]), objects);
    assert_eq!(snapshots.list("chat").await.unwrap().len(), 1);
}

#[tokio::test]
async fn nested_repositories_and_submodules_are_left_alone_and_named() {
    let (folder, library) = (Folder::repository(), Folder::repository());
    let from = library.path().to_str().unwrap();
    folder.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        from,
        "module",
    ]);
    folder.git(&["clone", "-q", from, "nested"]);
    folder.write("vendor/file", "ours");
    let snapshots = GitSnapshots::open(folder.path()).await.unwrap();
    let first = take(&snapshots, "first").await;
    let named: Vec<_> = first.diagnostics.iter().map(|one| (one.code, one.path.as_str())).collect();
    let code = DiagnosticCode::NotInSnapshot;
    assert_eq!(named, [(code, "module"), (code, "nested/")]);
    folder.write("module/committed", "changed");
    folder.write("nested/committed", "changed");
    snapshots.restore(&first.id, &new("before")).await.unwrap();
    assert_eq!(folder.read("module/committed"), "changed");
    assert_eq!(folder.read("nested/committed"), "changed");

    // Nor is a repository written into that took the place of a folder or a file of the snapshot.
    fs::remove_dir_all(folder.at("vendor")).unwrap();
    folder.git(&["clone", "-q", from, "vendor"]);
    for theirs in [None, Some("theirs")] {
        theirs.iter().for_each(|text| folder.write("vendor/file", text));
        folder.write("committed", "changed");
        let refused = snapshots.restore(&first.id, &new("again")).await.unwrap_err();
        assert_eq!(
            (refused.kind(), refused.get("file")),
            (ErrorKind::Conflict, Some("vendor/file"))
        );
        assert_eq!(folder.has("vendor/file"), theirs.is_some());
        assert_eq!(folder.read("committed"), "changed", "nothing is changed");
    }
    fs::remove_dir_all(folder.at("vendor")).unwrap();
    folder.write("vendor", "a file");
    let file = take(&snapshots, "file").await;
    fs::remove_file(folder.at("vendor")).unwrap();
    folder.git(&["clone", "-q", from, "vendor"]);
    let refused = snapshots.restore(&file.id, &new("file again")).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Conflict);
    assert_eq!(folder.read("vendor/committed"), "committed\n");
}

/// Lets git ignore a name by one of the three ways.
fn ignore(folder: &Folder, by: &str, name: &str) {
    if by != "core.excludesFile" {
        return folder.write(by, &format!("{name}\n"));
    }
    folder.write(".git/excludes", &format!("{name}\n"));
    let file = folder.at(".git/excludes").display().to_string();
    // As in a user's own configuration, which reaches the private folder too.
    let private = fs::read_dir(folder.at(".git/context")).unwrap().next().unwrap().unwrap();
    for config in [folder.at(".git/config"), private.path().join("config")] {
        folder.git(&["config", "--file", config.to_str().unwrap(), by, &file]);
    }
}

#[tokio::test]
async fn what_no_snapshot_has_is_never_overwritten() {
    for by in [".gitignore", ".git/info/exclude", "core.excludesFile"] {
        // What is ignored now, and stands where a file of the snapshot would be.
        type Put = fn(&Folder);
        let cases: [(&str, &str, Put); 4] = [
            ("place", "precious", |now| now.write("place/precious", "in no snapshot")),
            ("place", "place/", |now| now.write("place/deep/precious", "in no snapshot")),
            ("place/file", "place", |now| now.write("place", "in no snapshot")),
            ("place/file", "place", |now| symlink("/nowhere", now.at("place")).unwrap()),
        ];
        for (case, (then, ignored, put)) in cases.into_iter().enumerate() {
            let folder = Folder::repository();
            folder.write(then, "then");
            folder.write("other", "1");
            let snapshots = GitSnapshots::open(folder.path()).await.unwrap();
            let first = take(&snapshots, "first").await;
            match folder.at("place").is_dir() {
                true => fs::remove_dir_all(folder.at("place")).unwrap(),
                false => fs::remove_file(folder.at("place")).unwrap(),
            }
            ignore(&folder, by, ignored);
            put(&folder);
            folder.write("other", "2");
            let now = folder.everything();
            let refused = snapshots.restore(&first.id, &new("before")).await;
            assert_eq!(folder.everything(), now, "{by}, case {case}: nothing is changed");
            let refused = refused.unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Conflict, "{by}, case {case}");
            assert!(refused.get("snapshot of before").is_some());
        }
        // A file that is ignored by now is in the snapshot of before, and comes back.
        let folder = Folder::repository();
        folder.write("place", "a file");
        let snapshots = GitSnapshots::open(folder.path()).await.unwrap();
        let first = take(&snapshots, "first").await;
        ignore(&folder, by, "place");
        folder.write("place", "ignored by now");
        let restored = snapshots.restore(&first.id, &new("again")).await.unwrap();
        assert_eq!(folder.read("place"), "a file");
        snapshots.restore(&restored.before.id, &new("back")).await.unwrap();
        assert_eq!(folder.read("place"), "ignored by now");
    }
}
