//! The user's repository around the snapshots.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use context_runtime::ErrorKind;
use context_runtime::workspace::{GitSnapshots, WorkspaceSnapshots};

use crate::git::{Folder, new, take};

/// Everything of a repository that a user would miss.
fn state(folder: &Folder) -> Vec<String> {
    let mut state: Vec<_> = [
        vec!["status", "--porcelain=v2", "--branch", "--show-stash"],
        vec!["diff", "--cached"],
        vec!["for-each-ref", "refs/heads", "refs/stash", "refs/tags"],
        vec!["reflog", "show", "HEAD"],
        vec!["ls-files", "--stage"],
    ]
    .iter()
    .map(|args| folder.git(args))
    .collect();
    state.push(folder.read(".git/config"));
    state.push(folder.read(".git/HEAD"));
    state.push(format!("{:?}", fs::read(folder.at(".git/index")).unwrap()));
    state
}

#[tokio::test]
async fn index_head_branches_stash_and_configuration_are_not_touched() {
    let folder = Folder::repository();
    folder.write("staged", "staged\n");
    folder.git(&["add", "staged"]);
    folder.write("stashed", "stashed\n");
    folder.git(&["add", "stashed"]);
    folder.git(&["stash", "push", "-q", "stashed"]);
    folder.write("committed", "changed and not staged\n");
    folder.write(".git/hooks/reference-transaction", "#!/bin/sh\ntouch \"$0.ran\"\n");
    folder.git(&["config", "core.hooksPath", ".git/hooks"]);
    let hook = folder.at(".git/hooks/reference-transaction");
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    folder.git(&["status"]);
    let before = state(&folder);
    let snapshots = GitSnapshots::open(folder.path()).await.unwrap();
    let first = take(&snapshots, "first").await;
    assert_eq!(state(&folder), before);
    folder.write("committed", "changed again\n");
    folder.write("untracked", "new\n");
    snapshots.restore(&first.id, &new("before")).await.unwrap();
    let restored = snapshots.list("chat").await.unwrap();
    snapshots.remove(&restored[0].id).await.unwrap();
    assert!(!folder.has(".git/hooks/reference-transaction.ran"));
    // Git itself notes in its index that the file has another time.
    folder.git(&["status"]);
    let (mut now, mut then) = (state(&folder), before);
    assert!(now.pop() != then.pop() || now == then);
    assert_eq!(now, then);
}

#[tokio::test]
async fn no_filter_and_no_conversion_runs_and_ignored_files_that_are_tracked_are_there() {
    let folder = Folder::repository();
    folder.git(&["config", "core.autocrlf", "true"]);
    folder.git(&["config", "filter.boom.clean", "touch ran; cat"]);
    folder.git(&["config", "filter.boom.smudge", "touch ran; cat"]);
    folder.git(&["config", "filter.boom.required", "true"]);
    folder.write(
        ".gitattributes",
        "*.large filter=boom\n*.txt text eol=crlf\n*.wide working-tree-encoding=UTF-16\n*.id ident\n",
    );
    folder.write(".gitignore", "*.log\n");
    folder.write("kept.log", "tracked all the same");
    folder.git(&["add", "-f", "kept.log"]);
    let files = [
        ("a.large", "content"),
        ("b.txt", "one\ntwo\r\n"),
        ("c.wide", "no utf-16"),
        ("d.id", "$Id$"),
    ];
    files.iter().for_each(|(name, text)| folder.write(name, text));
    let snapshots = GitSnapshots::open(folder.path()).await.unwrap();
    let first = take(&snapshots, "first").await;
    files.iter().for_each(|(name, _)| folder.write(name, "changed"));
    folder.write("kept.log", "changed");
    snapshots.restore(&first.id, &new("before")).await.unwrap();
    for (name, text) in files {
        assert_eq!(folder.read(name), text, "{name}");
    }
    assert_eq!(folder.read("kept.log"), "tracked all the same");
    assert!(!folder.has("ran"));
}

#[tokio::test]
async fn snapshots_outlive_a_clean_up_and_removed_ones_do_not_break_the_next() {
    let folder = Folder::repository();
    folder.write("file", "one");
    let snapshots = GitSnapshots::open(folder.path()).await.unwrap();
    let first = take(&snapshots, "first").await;
    folder.write("file", "two");
    let second = take(&snapshots, "second").await;
    folder.git(&["gc", "-q", "--prune=now"]);
    snapshots.restore(&first.id, &new("third")).await.unwrap();
    assert_eq!(folder.read("file"), "one");
    for snapshot in snapshots.list("chat").await.unwrap() {
        assert!(snapshots.remove(&snapshot.id).await.unwrap());
    }
    folder.git(&["gc", "-q", "--prune=now"]);
    let fourth = take(&snapshots, "fourth").await;
    folder.write("file", "three");
    snapshots.restore(&fourth.id, &new("fifth")).await.unwrap();
    assert_eq!(folder.read("file"), "one");
    assert_eq!(folder.git(&["fsck", "--no-dangling"]), "");
    assert_eq!(
        snapshots.restore(&second.id, &new("sixth")).await.unwrap_err().kind(),
        ErrorKind::NotFound
    );
}

#[tokio::test]
async fn a_workspace_within_a_repository_keeps_to_its_folder() {
    let folder = Folder::repository();
    folder.write("app/file", "one");
    folder.write("lib/file", "one");
    let app = GitSnapshots::open(folder.at("app")).await.unwrap();
    let first = take(&app, "first").await;
    folder.write("app/file", "two");
    folder.write("lib/file", "two");
    app.restore(&first.id, &new("before")).await.unwrap();
    assert_eq!((folder.read("app/file"), folder.read("lib/file")), ("one".into(), "two".into()));
    // It is no snapshot of another folder.
    let lib = GitSnapshots::open(folder.at("lib")).await.unwrap();
    let other = lib.restore(&first.id, &new("other")).await.unwrap_err();
    assert_eq!((other.kind(), folder.read("lib/file")), (ErrorKind::NotFound, "two".into()));
    // Changes of the rest of the repository, and its other work trees, are none of it.
    let aside = Folder::plain();
    let tree = aside.at("tree").display().to_string();
    folder.git(&["worktree", "add", "-q", "--detach", &tree]);
    let tree = GitSnapshots::open(aside.at("tree")).await.unwrap();
    take(&tree, "tree").await;
    assert_eq!(folder.read("lib/file"), "two");
    let whole = GitSnapshots::open(folder.path()).await.unwrap();
    let other = take(&whole, "whole").await;
    let refused = tree.restore(&other.id, &new("tree too")).await.unwrap_err();
    assert_eq!((refused.kind(), folder.read("lib/file")), (ErrorKind::NotFound, "two".into()));
    assert_eq!(tree.list("chat").await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_repository_may_be_at_a_path_of_any_bytes() {
    let folder = Folder::plain();
    let odd = Path::new(OsStr::from_bytes(b"odd\xff\n\nname\n"));
    fs::create_dir(folder.at(odd)).unwrap();
    folder.git(&["init", "-q", "made"]);
    fs::rename(folder.at("made/.git"), folder.at(odd).join(".git")).unwrap();
    let (root, below) = (odd.join("file"), odd.join(odd).join("file"));
    for name in [&root, &below] {
        folder.write(name, "one");
        let parent = folder.at(name).parent().unwrap().to_owned();
        let snapshots = GitSnapshots::open(&parent).await.unwrap();
        let first = take(&snapshots, "first").await;
        folder.write(name, "two");
        snapshots.restore(&first.id, &new("before")).await.unwrap();
        assert_eq!(folder.read(name), "one");
    }
    assert!(folder.at(odd).join(".git/context").is_dir());
}

#[tokio::test]
async fn a_folder_that_cannot_be_read_is_named() {
    let folder = Folder::repository();
    folder.write("closed/file", "one");
    fs::set_permissions(folder.at("closed"), fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read_dir(folder.at("closed")).is_ok() {
        // An administrator may read it all the same.
        return;
    }
    let snapshots = GitSnapshots::open(folder.path()).await.unwrap();
    let told = take(&snapshots, "first").await.diagnostics;
    fs::set_permissions(folder.at("closed"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!((told.len(), told[0].path.as_str()), (1, "closed/"));
}

#[tokio::test]
async fn folders_that_cannot_be_a_workspace_are_refused_with_what_helps() {
    let (plain, other) = (Folder::plain(), Folder::plain());
    plain.write("file", "text");
    let error = GitSnapshots::open(plain.path()).await.unwrap_err();
    assert_eq!((error.kind(), error.get("repository").is_some()), (ErrorKind::NotFound, true));
    assert!(GitSnapshots::open(plain.at("missing")).await.is_err());
    assert_eq!(GitSnapshots::open(plain.at("file")).await.unwrap_err().kind(), ErrorKind::Invalid);
    let within = GitSnapshots::open_apart(plain.path(), plain.at("snapshots")).await.unwrap_err();
    assert_eq!(within.kind(), ErrorKind::Invalid);
    // Two workspaces in one folder of snapshots know nothing of each other.
    let (one, two) = (Folder::plain(), Folder::plain());
    one.write("file", "one");
    let first = GitSnapshots::open_apart(one.path(), other.path()).await.unwrap();
    let second = GitSnapshots::open_apart(two.path(), other.path()).await.unwrap();
    let id = take(&first, "first").await.id;
    assert_eq!(second.restore(&id, &new("second")).await.unwrap_err().kind(), ErrorKind::NotFound);
    assert!(!two.has("file"));
    // A folder that its repository ignores would give empty snapshots.
    let repository = Folder::repository();
    repository.write(".gitignore", "scratch/\n");
    repository.write("scratch/file", "x");
    let ignored = GitSnapshots::open(repository.at("scratch")).await.unwrap_err();
    assert_eq!(ignored.kind(), ErrorKind::Invalid);
}
