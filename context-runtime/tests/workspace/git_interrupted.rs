//! Restores that fail half way, that nobody waits for, and that run at the same time.

use std::fs;
use std::time::Duration;

use context_runtime::ErrorKind;
use context_runtime::workspace::{GitSnapshots, Snapshot, WorkspaceSnapshots};

use crate::git::{Folder, new, take};

/// The number of files of a workspace whose restore takes a while.
const MANY: usize = 2_000;

/// A repository with two snapshots, whose files have their names as text. The files are those of
/// the second.
async fn two_states() -> (Folder, GitSnapshots, [Snapshot; 2]) {
    let folder = Folder::repository();
    let snapshots = GitSnapshots::open(folder.path()).await.unwrap();
    let mut taken = Vec::new();
    for text in ["first", "second"] {
        (0..MANY).for_each(|n| folder.write(format!("files/{n}"), text));
        taken.push(take(&snapshots, text).await);
    }
    (folder, snapshots, taken.try_into().unwrap())
}

/// Returns how many files have this text.
fn count(folder: &Folder, text: &str) -> usize {
    let is_it = |n: &usize| {
        fs::read_to_string(folder.at(format!("files/{n}"))).is_ok_and(|found| found == text)
    };
    (0..MANY).filter(is_it).count()
}

#[tokio::test]
async fn a_restore_that_fails_half_way_says_so_and_can_be_done_again() {
    let folder = Folder::repository();
    for name in ["a", "b", "c"] {
        folder.write(name, &format!("{name} then"));
    }
    let snapshots = GitSnapshots::open(folder.path()).await.unwrap();
    let first = take(&snapshots, "first").await;
    for name in ["a", "b", "c"] {
        folder.write(name, &format!("{name} now"));
    }
    // As a disk that is full: one of the files cannot be written.
    let object = folder.git(&["rev-parse", &format!("{}:b", first.id)]);
    let (start, rest) = object.trim().split_at(2);
    let object = folder.at(format!(".git/objects/{start}/{rest}"));
    let kept = fs::read(&object).unwrap();
    fs::remove_file(&object).unwrap();
    let failed = snapshots.restore(&first.id, &new("before")).await.unwrap_err();
    assert_eq!(failed.kind(), ErrorKind::Unavailable, "{failed}");
    assert!(failed.get("snapshot of before").is_some());
    assert_eq!(folder.read("a"), "a then");

    fs::write(&object, kept).unwrap();
    snapshots.restore(&first.id, &new("again")).await.unwrap();
    assert_eq!(["a", "b", "c"].map(|name| folder.read(name)), ["a then", "b then", "c then"]);
    let before = &snapshots.list("chat").await.unwrap()[1];
    snapshots.restore(&before.id, &new("back")).await.unwrap();
    assert_eq!(["a", "b", "c"].map(|name| folder.read(name)), ["a now", "b now", "c now"]);
}

#[tokio::test]
async fn restores_at_the_same_time_come_one_after_the_other() {
    let (folder, snapshots, [first, second]) = two_states().await;
    // As of another process, which shares nothing but the folder.
    let other = GitSnapshots::open(folder.path()).await.unwrap();
    folder.write("files/0", "third");
    let (one, two) = (new("one"), new("two"));
    let (one, two) =
        tokio::join!(snapshots.restore(&first.id, &one), other.restore(&second.id, &two));
    one.unwrap();
    two.unwrap();
    let counts = (count(&folder, "first"), count(&folder, "second"));
    assert!([(MANY, 0), (0, MANY)].contains(&counts), "{counts:?}");
}

#[tokio::test]
async fn a_restore_whose_caller_is_gone_ends_and_the_next_one_waits_for_it() {
    let (folder, snapshots, [first, second]) = two_states().await;
    let (copy, id) = (snapshots.clone(), first.id.clone());
    let restore = tokio::spawn(async move { copy.restore(&id, &new("one")).await });
    while count(&folder, "first") == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    restore.abort();
    assert!(restore.await.is_err_and(|error| error.is_cancelled()), "it was still at work");
    let restored = snapshots.restore(&second.id, &new("two")).await.unwrap();
    assert_eq!((count(&folder, "second"), restored.written), (MANY, MANY as u64));
}
