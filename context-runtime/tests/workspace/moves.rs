//! Checkpoints, rewinds and switches with files.

use context_runtime::transfer::{copy_chat, export_jsonl};
use context_runtime::workspace::{GitSnapshots, Workspace};
use context_runtime::{
    CancelSignal, ChatRef, Clock, ContextEngine, ErrorKind, Metadata, SystemClock, Timestamp,
};

use crate::fake::{FakeFiles, Fault, say};
use crate::git::Folder;

#[tokio::test]
async fn files_and_conversation_go_back_together_and_forth_again() {
    let folder = Folder::repository();
    folder.write("plan.md", "one\n");
    let store = context_runtime::open("mem:").await.unwrap();
    let snapshots = GitSnapshots::open(folder.path()).await.unwrap();
    let builder = ContextEngine::builder(store).user("ada").chat("c");
    let mut chat = builder.workspace(Workspace::new(snapshots)).open().await.unwrap();
    say(&mut chat, "u1").await;
    chat.checkpoint("start").await.unwrap();
    folder.write("plan.md", "two\n");
    folder.write("new.md", "new\n");
    say(&mut chat, "a1").await;

    let moved = chat.restore("start").await.unwrap();
    let restored = moved.restored.unwrap();
    assert_eq!((restored.written, restored.removed), (1, 1));
    assert_eq!(chat.resolve().await.unwrap().messages.len(), 1);
    assert_eq!((folder.read("plan.md"), folder.has("new.md")), ("one\n".into(), false));

    let moved = chat.switch_branch("main").await.unwrap();
    assert!(moved.restored.is_some());
    assert_eq!(chat.resolve().await.unwrap().messages.len(), 2);
    assert_eq!((folder.read("plan.md"), folder.read("new.md")), ("two\n".into(), "new\n".into()));
}

#[tokio::test]
async fn a_message_has_its_files_if_the_program_took_a_snapshot_there() {
    let (files, store) = (FakeFiles::default(), context_runtime::open("mem:").await.unwrap());
    let mut chat = files.engine(&store).await;
    assert_eq!(chat.snapshot_workspace().await.unwrap_err().kind(), ErrorKind::Invalid);
    files.write("one");
    say(&mut chat, "u1").await;
    chat.snapshot_workspace().await.unwrap();
    files.write("two");
    say(&mut chat, "a1").await;
    say(&mut chat, "u2").await;

    // There is none of a1: the files stay.
    let moved = chat.rewind(&"a1".into()).await.unwrap();
    assert_eq!((moved.restored, files.file()), (None, "two".into()));
    chat.rewind(&"u1".into()).await.unwrap();
    assert_eq!(files.file(), "one");
    // And now there is one, because the place was left.
    chat.rewind(&"a1".into()).await.unwrap();
    assert_eq!(files.file(), "two");

    let alone = chat.set_workspace(None);
    alone.rewind(&"u1".into()).await.unwrap();
    assert_eq!(files.file(), "two");
}

#[tokio::test]
async fn a_refused_restore_moves_nothing() {
    let (files, store) = (FakeFiles::default(), context_runtime::open("mem:").await.unwrap());
    let mut chat = files.engine_at_two(&store).await;
    files.fail(Fault::Refused);
    assert_eq!(chat.restore("start").await.unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!((chat.branch().as_str(), files.file()), ("main", "two".into()));
    assert_eq!(chat.branches().await.unwrap().len(), 1);
    files.fail(Fault::None);
    assert!(chat.resolve().await.unwrap().diagnostics.is_empty());
    assert_eq!(chat.rewind(&"u9".into()).await.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(files.file(), "two");
    chat.restore("start").await.unwrap();
    assert_eq!(files.file(), "one");
}

#[tokio::test]
async fn a_checkpoint_that_moves_or_goes_takes_its_snapshot_along() {
    let (files, store) = (FakeFiles::default(), context_runtime::open("mem:").await.unwrap());
    let mut chat = files.engine(&store).await;
    say(&mut chat, "u1").await;
    files.write("one");
    chat.checkpoint("here").await.unwrap();
    files.write("two");
    chat.checkpoint("here").await.unwrap();
    assert_eq!(files.snapshots(), ["two"]);
    // Moved by somebody without a workspace: its snapshot is not that of the new place.
    say(&mut chat, "a1").await;
    let at = SystemClock.now();
    let (chat_ref, name) = (chat.chat_ref().clone(), "here".into());
    store.history().set_checkpoint(&chat_ref, &name, &"a1".into(), at).await.unwrap();
    assert_eq!(chat.restore("here").await.unwrap().restored, None);
    assert!(chat.delete_checkpoint(&name).await.unwrap());
    assert!(!chat.delete_checkpoint(&name).await.unwrap());
    assert_eq!(files.snapshots(), Vec::<String>::new());
}

#[tokio::test]
async fn snapshots_of_turns_are_the_newest_ones_and_a_sweep_takes_what_nobody_names() {
    let (files, store) = (FakeFiles::default(), context_runtime::open("mem:").await.unwrap());
    let mut chat = files.engine(&store).await;
    chat.set_workspace(Workspace::new(files.clone()).each_turn(2));
    for id in ["u1", "u2", "u3"] {
        say(&mut chat, id).await;
        files.write(id);
        chat.snapshot_workspace().await.unwrap();
    }
    assert_eq!(files.snapshots(), ["u2", "u3"]);
    // A branch without a message has no place for a record.
    let mut copy = chat.fork("d").await.unwrap();
    assert!(
        copy.chat().await.unwrap().metadata.iter().all(|(key, _)| !key.starts_with("workspace"))
    );
    assert_eq!(copy.finish_move().await.unwrap(), None);
    // Nor do copies, exports and imports have records of snapshots that are of this chat.
    let (cancel, copied) = (CancelSignal::never(), ChatRef::new("bob", "copy"));
    let _written = copy_chat(&*store, chat.chat_ref(), &*store, &copied, &cancel).await.unwrap();
    let copied = store.history().chat(&copied).await.unwrap().unwrap();
    assert_eq!(copied.metadata, Metadata::default());
    let (mut lines, chats) = (Vec::new(), [chat.chat_ref().clone()]);
    let _done = export_jsonl(&*store, &chats, &mut lines, &cancel, &mut |_| {}).await.unwrap();
    let lines = String::from_utf8(lines).unwrap();
    assert!(lines.contains("\"id\":\"u3\"") && !lines.contains("workspace:"), "{lines}");

    let far = Timestamp::from_micros(i64::MAX);
    assert_eq!(chat.sweep_snapshots(far).await.unwrap(), 0);
    chat.rewind(&"u2".into()).await.unwrap();
    let main = "main".into();
    chat.delete_branch(&main).await.unwrap();
    assert_eq!(chat.sweep_snapshots(Timestamp::from_micros(0)).await.unwrap(), 0);
    assert_eq!(chat.sweep_snapshots(far).await.unwrap(), 1);
    assert_eq!(files.snapshots(), ["u2"]);

    // Moved and deleted by somebody without a workspace.
    chat.checkpoint("kept").await.unwrap();
    for name in ["moved", "deleted"] {
        files.write(name);
        chat.checkpoint(name).await.unwrap();
    }
    let (chat_ref, history) = (chat.chat_ref().clone(), store.history());
    history.set_checkpoint(&chat_ref, &"moved".into(), &"u1".into(), far).await.unwrap();
    assert!(history.delete_checkpoint(&chat_ref, &"deleted".into(), far).await.unwrap());
    assert_eq!(chat.sweep_snapshots(Timestamp::from_micros(0)).await.unwrap(), 0);
    assert_eq!(chat.sweep_snapshots(far).await.unwrap(), 2);
    assert_eq!(files.snapshots(), ["u2", "u2"]);
    assert!(chat.delete_checkpoint(&"kept".into()).await.unwrap());

    let stored = chat.chat().await.unwrap();
    assert_eq!(Workspace::new(files.clone()).discard(&stored).await.unwrap(), 1);
    let missing = chat.rewind(&"u2".into()).await.unwrap_err();
    assert_eq!((missing.kind(), chat.branch().as_str()), (ErrorKind::NotFound, "main-v2"));
}

#[cfg(feature = "agents")]
#[tokio::test]
async fn a_turn_begins_with_a_snapshot_if_the_program_wants_that() {
    let agents = context_runtime::Agents::open("mem:").await.unwrap();
    let agents = agents.model("claude-sonnet-4-5").build().unwrap();
    let mut chat = agents.chat("ada", "c").await.unwrap();
    let files = FakeFiles::default();
    files.write("one");
    chat.engine_mut().set_workspace(Workspace::new(files.clone()));
    chat.turn("First?").begin().await.unwrap().cancel().await.unwrap();
    assert_eq!(files.snapshots(), Vec::<String>::new());

    chat.engine_mut().set_workspace(Workspace::new(files.clone()).each_turn(10));
    let turn = chat.turn("Change the file.").begin().await.unwrap();
    let question = turn.id().clone();
    files.write("two");
    turn.cancel().await.unwrap();
    chat.engine_mut().rewind(&question).await.unwrap();
    assert_eq!(files.file(), "one");
}

/// The question is stored by then, and a second attempt would store it again.
#[cfg(feature = "agents")]
#[tokio::test]
async fn a_turn_whose_snapshot_cannot_be_taken_begins_and_says_so() {
    let agents = context_runtime::Agents::open("mem:").await.unwrap();
    let agents = agents.model("claude-sonnet-4-5").build().unwrap();
    let mut chat = agents.chat("ada", "c").await.unwrap();
    let files = FakeFiles::default();
    files.fail(Fault::TooLarge);
    chat.engine_mut().set_workspace(Workspace::new(files.clone()).each_turn(10));
    let turn = chat.turn("Change the file.").begin().await.unwrap();
    let told = turn.report().diagnostics;
    assert_eq!(told.len(), 1);
    assert!(told[0].message.contains("a file is too large"), "{told:?}");
    turn.cancel().await.unwrap();
    assert_eq!(chat.engine_mut().turn_count().await.unwrap(), 1);
}
