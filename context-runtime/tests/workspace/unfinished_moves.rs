//! Moves that a crash interrupts between the files and the conversation.

use context_runtime::workspace::Workspace;
use context_runtime::{DiagnosticCode, ErrorKind, Timestamp};

use crate::fake::{FakeFiles, Fault, say};

/// A process restores the files and ends before the conversation follows. The next one is told,
/// and finishes the move; the files of before are those of before the first attempt.
#[tokio::test(start_paused = true)]
async fn a_move_that_a_crash_interrupted_is_seen_and_finished() {
    for by_the_same_call in [false, true] {
        let (files, store) = (FakeFiles::default(), context_runtime::open("mem:").await.unwrap());
        let mut chat = files.engine_at_two(&store).await;
        files.lose(chat.restore("start")).await;
        drop(chat);
        assert_eq!(files.file(), "one");

        let mut chat = files.engine(&store).await;
        let told = chat.resolve().await.unwrap();
        assert_eq!(told.messages.len(), 2);
        assert_eq!(told.diagnostics[0].code, DiagnosticCode::RewindInterrupted);
        let elsewhere = chat.switch_branch("main").await.unwrap_err();
        assert_eq!(elsewhere.kind(), ErrorKind::Conflict);
        files.write("something after the crash");
        let moved = match by_the_same_call {
            true => chat.restore("start").await.unwrap(),
            false => chat.finish_move().await.unwrap().unwrap(),
        };
        assert_eq!((moved.branch.as_str(), files.file()), ("main-v2", "one".into()));
        assert!(files.snapshots().contains(&"something after the crash".into()));
        assert_eq!(chat.finish_move().await.unwrap(), None);

        assert!(chat.resolve().await.unwrap().diagnostics.is_empty());
        chat.switch_branch("main").await.unwrap();
        assert_eq!(files.file(), "two");
    }
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_switch_is_finished_too() {
    let (files, store) = (FakeFiles::default(), context_runtime::open("mem:").await.unwrap());
    let mut chat = files.engine(&store).await;
    files.write("one");
    say(&mut chat, "u1").await;
    chat.snapshot_workspace().await.unwrap();
    say(&mut chat, "a1").await;
    files.write("two");
    chat.rewind(&"u1".into()).await.unwrap();
    files.lose(chat.switch_branch("main")).await;
    let mut chat = files.engine(&store).await;
    assert_eq!(chat.branch().as_str(), "main-v2");
    let moved = chat.finish_move().await.unwrap().unwrap();
    assert_eq!((moved.branch.as_str(), files.file()), ("main", "two".into()));
    chat.rewind(&"u1".into()).await.unwrap();
    assert_eq!(files.file(), "one");
}

/// Files and messages that were written between the crash and the end of the move have their place.
#[tokio::test(start_paused = true)]
async fn work_done_after_the_crash_can_be_gone_back_to() {
    let (files, store) = (FakeFiles::default(), context_runtime::open("mem:").await.unwrap());
    let mut chat = files.engine_at_two(&store).await;
    files.lose(chat.restore("start")).await;
    let mut chat = files.engine(&store).await;
    files.write("three");
    say(&mut chat, "u2").await;
    // A sweep leaves the files of before, which only the record of the move names.
    assert_eq!(chat.sweep_snapshots(Timestamp::from_micros(i64::MAX)).await.unwrap(), 0);
    chat.finish_move().await.unwrap().unwrap();
    assert_eq!(files.file(), "one");
    assert_eq!(chat.sweep_snapshots(Timestamp::from_micros(i64::MAX)).await.unwrap(), 0);
    chat.switch_branch("main").await.unwrap();
    assert_eq!(files.file(), "three");
    chat.rewind(&"a1".into()).await.unwrap();
    assert_eq!(files.file(), "two");
}

/// A restore may be refused each time, or its place may be gone.
#[tokio::test(start_paused = true)]
async fn an_unfinished_move_can_be_abandoned() {
    let (files, store) = (FakeFiles::default(), context_runtime::open("mem:").await.unwrap());
    let mut chat = files.engine_at_two(&store).await;
    assert!(!chat.abandon_move().await.unwrap());
    files.fail(Fault::Half);
    chat.restore("start").await.unwrap_err();
    files.fail(Fault::Refused);
    assert_eq!(chat.finish_move().await.unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(chat.rewind(&"a1".into()).await.unwrap_err().get("to"), Some("message u1"));
    assert!(chat.abandon_move().await.unwrap());
    assert!(chat.resolve().await.unwrap().diagnostics.is_empty());
    assert_eq!((chat.branch().as_str(), files.file()), ("main", "half of it".into()));
    // The files of before the move belong to the message that it would have left.
    files.fail(Fault::None);
    chat.rewind(&"a1".into()).await.unwrap();
    assert_eq!(files.file(), "two");
    // The same call says that the snapshot is gone, and blocks no other one.
    files.lose(chat.restore("start")).await;
    let snapshots = Workspace::new(files.clone());
    let removed = snapshots.discard(&chat.chat().await.unwrap()).await.unwrap();
    assert!(removed > 0);
    assert_eq!(chat.restore("start").await.unwrap_err().kind(), ErrorKind::NotFound);
    assert!(!chat.abandon_move().await.unwrap());
}

/// Such as on a disk that is full: some files are those of the destination, others are not.
#[tokio::test]
async fn a_restore_that_fails_half_way_is_an_unfinished_move() {
    let (files, store) = (FakeFiles::default(), context_runtime::open("mem:").await.unwrap());
    let mut chat = files.engine_at_two(&store).await;
    files.fail(Fault::Half);
    for _ in 0..2 {
        assert_eq!(chat.restore("start").await.unwrap_err().kind(), ErrorKind::Unavailable);
        let told = chat.resolve().await.unwrap().diagnostics;
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].code, DiagnosticCode::RewindInterrupted);
    }
    // Refused now, but the files are not as they were.
    files.fail(Fault::Refused);
    assert_eq!(chat.finish_move().await.unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(chat.resolve().await.unwrap().diagnostics.len(), 1);
    files.fail(Fault::None);
    chat.finish_move().await.unwrap().unwrap();
    assert_eq!(files.file(), "one");
    assert!(chat.resolve().await.unwrap().diagnostics.is_empty());
    chat.switch_branch("main").await.unwrap();
    assert_eq!(files.file(), "two");
}

/// Otherwise no move would be possible any more.
#[tokio::test(start_paused = true)]
async fn a_move_whose_snapshot_is_gone_is_given_up() {
    let (files, store) = (FakeFiles::default(), context_runtime::open("mem:").await.unwrap());
    let mut chat = files.engine(&store).await;
    say(&mut chat, "u1").await;
    chat.checkpoint("start").await.unwrap();
    say(&mut chat, "a1").await;
    files.lose(chat.restore("start")).await;
    chat.delete_checkpoint(&"start".into()).await.unwrap();
    assert_eq!(chat.finish_move().await.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(chat.finish_move().await.unwrap(), None);
    chat.rewind(&"u1".into()).await.unwrap();
}

/// Regression: a checkpoint at the message of an interrupted move got the files of that move.
#[tokio::test(start_paused = true)]
async fn other_files_of_the_same_message_are_another_destination() {
    let (files, store) = (FakeFiles::default(), context_runtime::open("mem:").await.unwrap());
    let mut chat = files.engine_at_two(&store).await;
    files.lose(chat.restore("start")).await;
    files.write("other");
    chat.rewind(&"u1".into()).await.unwrap();
    files.write("later");
    chat.checkpoint("later").await.unwrap();
    say(&mut chat, "a2").await;
    files.lose(chat.restore("start")).await;
    let refused = chat.restore("later").await.unwrap_err();
    assert_eq!((refused.kind(), files.file()), (ErrorKind::Conflict, "one".into()));
    chat.finish_move().await.unwrap().unwrap();
    chat.restore("later").await.unwrap();
    assert_eq!(files.file(), "later");
}
